import type { FunctionCalls } from '../call-forms.ts';
import { incompleteOutcome, type CallContext, type CallSyntax } from '../call-context.ts';
import { functionCallsRule } from '../forced/function-calls-rule.ts';
import type { Reading } from '../scanner.ts';
import { writeFunctionCalls } from '../written-calls.ts';
import { readLiteral } from './literal.ts';

/** Parses calls of the form `name(key=value)`. */
export function functionCalls(form: FunctionCalls): CallSyntax {
  return {
    starts: form.open,
    *read(context) {
      const { scanner } = context;
      if (form.isList && (yield* scanner.takeSpaced(['['])) === undefined) return false;
      if (!(yield* readCall(context, form))) return false;
      while (form.isList) {
        const before = scanner.place;
        if ((yield* scanner.takeSpaced([','])) === undefined) break;
        if (yield* readCall(context, form)) continue;
        scanner.goTo(before);
        break;
      }
      if (form.isList) yield* scanner.takeSpaced([']']);
      yield* scanner.takeSpaced([form.close]);
      return true;
    },
    rule: (rules) => functionCallsRule(form, rules),
    write: (calls) => writeFunctionCalls(form, calls),
  };
}

function* readCall(context: CallContext, form: FunctionCalls): Reading<boolean> {
  const { scanner } = context;
  yield* scanner.spaces();
  if (form.prefix !== undefined) yield* scanner.take(form.prefix);
  const name = yield* readName(context);
  if (name === undefined || (yield* scanner.takeSpaced([form.bracket])) === undefined) return false;
  if (!context.beginCall(name)) return false;
  context.endCall((yield* readFields(context, form)) ? 'whole' : incompleteOutcome(scanner));
  return true;
}

/** Parses the arguments up to the closing bracket; false when they are cut off or malformed. */
export function* readFields(
  { scanner, emitArguments }: Pick<CallContext, 'scanner' | 'emitArguments'>,
  form: Pick<FunctionCalls, 'bracket' | 'separator' | 'quote'>,
): Reading<boolean> {
  const close = form.bracket === '(' ? ')' : '}';
  const literal = form.quote === undefined ? {} : { quote: form.quote };
  for (let count = 0; ; count++) {
    if ((yield* scanner.takeSpaced([close])) !== undefined) {
      emitArguments(count === 0 ? '{}' : '}');
      return true;
    }
    if (count > 0 && (yield* scanner.takeSpaced([','])) === undefined) return false;
    yield* scanner.spaces();
    let key = '';
    const found = yield* scanner.until([form.separator, close, ','], (text) => {
      key += text;
    });
    key = unquoted(key.trim(), form.quote);
    if (found !== form.separator || key === '') return false;
    emitArguments(`${count === 0 ? '{' : ', '}${JSON.stringify(key)}: `);
    if (!(yield* readLiteral(scanner, emitArguments, literal))) return false;
  }
}

function unquoted(key: string, quote: string | undefined): string {
  for (const mark of ['"', "'", ...(quote === undefined ? [] : [quote])]) {
    if (key.length >= 2 * mark.length && key.startsWith(mark) && key.endsWith(mark)) {
      return key.slice(mark.length, -mark.length);
    }
  }
  return key;
}

/** Parses a name of letters, digits and `_.-`; undefined for anything else. */
function* readName({ scanner }: CallContext): Reading<string | undefined> {
  let name = '';
  for (;;) {
    const character = yield* scanner.peek();
    if (character === undefined || !/[\w.-]/.test(character)) break;
    name += character;
    scanner.skip();
  }
  return name === '' ? undefined : name;
}

import type { NamedCalls } from '../call-forms.ts';
import { type CallContext, type CallRules, type CallSyntax, readConsecutiveCalls } from '../call-context.ts';
import type { Reading } from '../scanner.ts';
import { writeNamedCalls } from '../written-calls.ts';
import { readArguments } from './object-call.ts';
import { objectCalls } from './object-calls.ts';
import type { Rule } from '../../../grammar/index.ts';
import { argumentsRule } from '../forced/fields.ts';
import { choice, letters, LINE, marker, number, sequence, repeatedCalls, text } from '../forced/rules.ts';

const MAX_NAME_LENGTH = 256;

/** Parses calls that are a name and a JSON object. */
export function namedCalls(form: NamedCalls): CallSyntax {
  const { section, open } = form;
  return {
    starts: section ? [section.open, open] : [open],
    *read(context, start) {
      const { scanner } = context;
      if (start === section?.open && (yield* scanner.takeSpaced([open])) === undefined) return false;
      if (form.orList && (yield* scanner.takeSpaced(['['])) !== undefined) {
        scanner.goTo(scanner.place - 1);
        return yield* objectCalls({ open: [] }).read(context, undefined);
      }
      if (!(yield* readConsecutiveCalls(context, open, () => readCall(context, form)))) return false;
      if (section) yield* scanner.takeSpaced([section.close]);
      return true;
    },
    rule: (rules) => namedCallsRule(form, rules),
    write: (calls) => writeNamedCalls(form, calls),
  };
}

function* readCall(context: CallContext, form: NamedCalls): Reading<boolean> {
  const { scanner } = context;
  const { type, between, id: idForm, close } = form;
  if (type !== undefined) yield* scanner.take(type);
  const ends = [...between, ...(idForm ? [idForm.mark] : [])];
  const first = yield* readShort(context, ends);
  if (!first) return false;
  let { text: name } = first;
  let id: string | undefined;
  if (idForm && first.end === idForm.mark) {
    const second = yield* readShort(context, between);
    if (!second) return false;
    [name, id] = idForm.isFirst ? [second.text, first.text] : [first.text, second.text];
  }
  if (form.isNumbered) [name, id] = unnumbered(name);
  if (!context.beginCall(name, id)) return false;
  yield* readArguments(context);
  yield* scanner.takeSpaced(['```']);
  if (close !== undefined) yield* scanner.takeSpaced([close]);
  return true;
}

/** Parses a name or an id up to one of the markers after it; undefined when none comes soon. */
function* readShort(
  { scanner }: CallContext,
  ends: readonly string[],
): Reading<{ text: string; end: string } | undefined> {
  let text = '';
  const from = scanner.place;
  const found = yield* scanner.until(ends, (piece) => {
    text += piece;
  });
  if (found === undefined || scanner.place - from > MAX_NAME_LENGTH) return undefined;
  // The bracket that begins the arguments is not consumed.
  if (found === '{') scanner.goTo(scanner.place - 1);
  return { text: text.trim(), end: found };
}

/** The name and id in `functions.NAME:NUMBER`. */
function unnumbered(written: string): [name: string, id: string] {
  return [written.replace(/^functions\./, '').replace(/:\d+$/, ''), written];
}

/** Calls that are a name and a JSON object. Throws as `schemaGrammar`. */
function namedCallsRule(form: NamedCalls, { tools, isParallel }: CallRules): Rule {
  const { section, open, type = '', between, id, written = {}, close = '' } = form;
  const before = marker(written.before ?? between[0] ?? '');
  const { idLength } = written;
  const calls = [...tools].map(([name, parameters]) => {
    const named = form.isNumbered ? sequence(text(`functions.${name}:`), number()) : text(name);
    const marked =
      id && idLength !== undefined ? { mark: marker(id.mark), id: letters(idLength) } : undefined;
    const head = !marked
      ? named
      : id?.isFirst
        ? sequence(marked.id, marked.mark, named)
        : sequence(named, marked.mark, marked.id);
    const behind = marker((written.behind ?? '') + close);
    return sequence(marker(open + type), head, before, argumentsRule(parameters), behind);
  });
  const all = repeatedCalls(choice(...calls), isParallel, LINE);
  return section ? sequence(marker(section.open), all, marker(section.close)) : all;
}

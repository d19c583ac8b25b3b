import type { ParameterCalls } from '../call-forms.ts';
import {
  incompleteOutcome,
  type CallContext,
  type CallSyntax,
  readConsecutiveCalls,
} from '../call-context.ts';
import { escaped, readJson } from '../json-text.ts';
import { readArguments } from './object-call.ts';
import { parameterCallsRule } from '../forced/parameter-calls-rule.ts';
import { bareValue, type ParameterKind, type Parameters } from '../parameters.ts';
import type { Reading } from '../scanner.ts';
import { writeParameterCalls } from '../written-calls.ts';

const CDATA = '<![CDATA[';
const MAX_NAME_LENGTH = 256;

/** Parses calls whose parameters are between markers. */
export function parameterCalls(form: ParameterCalls): CallSyntax {
  const { section, call } = form;
  return {
    starts: [...(section ? [section.open] : []), call.open],
    *read(context, start) {
      const { scanner } = context;
      if (start !== call.open && (yield* scanner.takeSpaced([call.open])) === undefined) return false;
      if (!(yield* readConsecutiveCalls(context, call.open, () => readCall(context, form)))) return false;
      if (section) yield* scanner.takeSpaced([section.close]);
      return true;
    },
    rule: (rules) => parameterCallsRule(form, rules),
    write: (calls) => writeParameterCalls(form, calls),
  };
}

function* readCall(context: CallContext, form: ParameterCalls): Reading<boolean> {
  const { scanner } = context;
  const { call, parameter, object } = form;
  let name = '';
  const from = scanner.place;
  // A marker that does not just end the name begins what follows.
  const following = [parameter.open, call.close];
  const found = yield* scanner.until([...call.nameEnds, ...following], (text) => {
    name += text;
  });
  if (found === undefined || scanner.place - from > MAX_NAME_LENGTH) return false;
  if (following.includes(found)) scanner.goTo(scanner.place - found.length);
  name = name.trim();
  if (call.number) yield* scanner.until([call.number.close], () => undefined);
  if (!context.beginCall(name)) return false;
  if (object && (yield* scanner.takeSpaced([object.open])) !== undefined) {
    yield* readArguments(context);
    yield* scanner.takeSpaced([object.close]);
    yield* scanner.takeSpaced([call.close]);
  } else yield* readParameters(context, form, context.tools.get(name) as Parameters);
  return true;
}

function* readParameters(
  context: CallContext,
  { call, parameter }: ParameterCalls,
  parameters: Parameters,
): Reading<void> {
  const { scanner } = context;
  let count = 0;
  for (;;) {
    const next = yield* scanner.takeSpaced([parameter.open, call.close]);
    if (next === call.close) break;
    const isWhole = next !== undefined && (yield* readParameter(context, { parameter, parameters, count }));
    if (!isWhole) {
      context.endCall(incompleteOutcome(scanner));
      return;
    }
    count++;
  }
  context.emitArguments(count === 0 ? '{}' : '}');
  context.endCall('whole');
}

function* readParameter(
  { scanner, emitArguments }: CallContext,
  of: { parameter: ParameterCalls['parameter']; parameters: Parameters; count: number },
): Reading<boolean> {
  const { parameter, parameters, count } = of;
  let key = '';
  const marks = parameter.keyEnds.map(({ mark }) => mark);
  const found = yield* scanner.until(marks, (text) => {
    key += text;
  });
  if (found === undefined) return false;
  key = key.trim();
  if (parameter.valueOpen !== undefined && !(yield* scanner.takeSpaced([parameter.valueOpen]))) return false;
  emitArguments(`${count === 0 ? '{' : ', '}${JSON.stringify(key)}: `);
  const told = parameter.keyEnds.find(({ mark }) => mark === found)?.isString;
  const kind = told === undefined ? parameters.kindOf(key) : told ? STRING : JSON_VALUE;
  if (parameter.isOnLines) yield* scanner.take('\n');
  const isCdata = yield* scanner.take(CDATA);
  const close = isCdata ? `]]>${parameter.close}` : parameter.close;
  const closes = parameter.isOnLines ? [`\n${close}`, close] : [close];
  return yield* readValue({ scanner, emitArguments }, closes, isCdata ? STRING : kind);
}

const STRING: ParameterKind = { mayBeString: true, types: new Set() };
const JSON_VALUE: ParameterKind = { mayBeString: false, types: undefined };

/** Parses a value up to its closing marker: strings are emitted as they arrive, other values once complete. */
export function* readValue(
  { scanner, emitArguments }: Pick<CallContext, 'scanner' | 'emitArguments'>,
  closes: readonly string[],
  kind: ParameterKind,
): Reading<boolean> {
  if (kind.mayBeString && kind.types?.size === 0) {
    emitArguments('"');
    const found = yield* scanner.until(closes, (text) => emitArguments(escaped(text)));
    if (found !== undefined) emitArguments('"');
    return found !== undefined;
  }
  if (yield* readBareJson({ scanner, emitArguments }, closes, kind)) return true;
  let text = '';
  const found = yield* scanner.until(closes, (piece) => {
    text += piece;
  });
  if (found === undefined) return false;
  emitArguments(bareValue(text, kind));
  return true;
}

/** Parses a value that is JSON itself, whose strings may contain the marker. Otherwise nothing is consumed. */
function* readBareJson(
  { scanner, emitArguments }: Pick<CallContext, 'scanner' | 'emitArguments'>,
  closes: readonly string[],
  { mayBeString }: ParameterKind,
): Reading<boolean> {
  const before = scanner.place;
  yield* scanner.spaces();
  const first = yield* scanner.peek();
  let text = '';
  if (first !== undefined && (mayBeString ? '{[' : '{["').includes(first)) {
    const end = yield* readJson(scanner, (piece) => {
      text += piece;
    });
    if (end === 'whole' && (yield* scanner.takeSpaced(closes)) !== undefined) {
      emitArguments(text);
      return true;
    }
  }
  scanner.goTo(before);
  return false;
}

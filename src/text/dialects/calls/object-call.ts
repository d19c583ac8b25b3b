import { incompleteOutcome, type CallContext } from '../call-context.ts';
import { readJson, readJsonString, readWholeJson } from '../json-text.ts';
import type { Reading, Scanner } from '../scanner.ts';

const NAMES = new Set(['name', 'tool_name', 'function']);
const ARGUMENTS = new Set(['arguments', 'parameters', 'args']);
const IDS = new Set(['id', 'tool_call_id', 'call_id']);
/** Keys that may come before the name. An object that begins with another key is text. */
const EARLY = [NAMES, ARGUMENTS, IDS, new Set(['type', 'index'])];

/**
 * Parses a call written as a JSON object with the name and the arguments, in any order and among other properties.
 * False when it is not a call; nothing was emitted then.
 */
export function* readObjectCall(context: CallContext): Reading<boolean> {
  const { scanner } = context;
  const call = new ObjectCall(context);
  yield* scanner.spaces();
  if (!(yield* scanner.take('{'))) return false;
  yield* scanner.spaces();
  if (yield* scanner.take('}')) return false;
  return (yield* readMembers(scanner, (key) => call.read(key))) ? call.close() : call.broken();
}

/** Parses an object's members after its opening bracket, and the closing one; false when a member is invalid. */
function* readMembers(scanner: Scanner, read: (key: string) => Reading<boolean>): Reading<boolean> {
  for (;;) {
    yield* scanner.spaces();
    const key = yield* readJsonString(scanner);
    yield* scanner.spaces();
    if (key === undefined || !(yield* scanner.take(':'))) return false;
    if (!(yield* read(key))) return false;
    yield* scanner.spaces();
    if (yield* scanner.take('}')) return true;
    if (!(yield* scanner.take(','))) return false;
  }
}

/** Parses a call written as a JSON object with one property: the name, with the arguments as its value. */
export function* readKeyedCall(context: CallContext): Reading<boolean> {
  const { scanner } = context;
  yield* scanner.spaces();
  if (!(yield* scanner.take('{'))) return false;
  yield* scanner.spaces();
  const name = yield* readJsonString(scanner);
  yield* scanner.spaces();
  if (name === undefined || !(yield* scanner.take(':')) || !context.beginCall(name)) return false;
  yield* readArguments(context);
  yield* scanner.takeSpaced(['}']);
  return true;
}

/** Parses the JSON object of a call's arguments and ends the call. */
export function* readArguments(context: CallContext): Reading<void> {
  const { scanner } = context;
  yield* scanner.spaces();
  if ((yield* scanner.peek()) !== '{') {
    context.endCall(incompleteOutcome(scanner));
    return;
  }
  context.endCall(yield* readJson(scanner, context.emitArguments));
}

/** A call whose object is being parsed. */
class ObjectCall {
  readonly #context: CallContext;
  #name: string | undefined;
  #id: string | undefined;
  #wasIdTold = false;
  /** Arguments that came before the name. */
  #early: string | undefined;
  #hasArguments = false;
  /** The current members belong to a nested `function`. */
  #isWithin = false;

  constructor(context: CallContext) {
    this.#context = context;
  }

  /** Parses the value of a key; false when the value rules out a call. */
  *read(key: string): Reading<boolean> {
    const { scanner } = this.#context;
    if (this.#name === undefined && !EARLY.some((keys) => keys.has(key))) return false;
    yield* scanner.spaces();
    if (NAMES.has(key) && this.#name === undefined && (yield* scanner.peek()) === '"') {
      this.#name = yield* readJsonString(scanner);
      return this.#name !== undefined && this.#begin(this.#name);
    }
    // OpenAI's form: name and arguments in a nested object.
    if (key === 'function' && this.#name === undefined && !this.#isWithin && (yield* scanner.take('{'))) {
      this.#isWithin = true;
      return yield* readMembers(scanner, (inner) => this.read(inner));
    }
    if (ARGUMENTS.has(key) && !this.#hasArguments) return yield* this.#readArguments();
    const value = yield* readWholeJson(scanner);
    if (!value) return false;
    if (IDS.has(key)) this.#id = typeof value.value === 'string' ? value.value : value.text.trim();
    return true;
  }

  #begin(name: string): boolean {
    const { beginCall, emitArguments } = this.#context;
    if (!beginCall(name, this.#id)) return false;
    this.#wasIdTold = this.#id !== undefined;
    if (this.#early !== undefined) emitArguments(this.#early);
    return true;
  }

  *#readArguments(): Reading<boolean> {
    const { scanner, emitArguments } = this.#context;
    if ((yield* scanner.peek()) !== '{') return yield* this.#readOddArguments();
    let early = '';
    const take =
      this.#name === undefined
        ? (text: string) => {
            early += text;
          }
        : emitArguments;
    const end = yield* readJson(scanner, take);
    if (this.#name === undefined) this.#early = early;
    this.#hasArguments = end === 'whole';
    return this.#hasArguments;
  }

  /** Arguments as a string of JSON, or null for none. */
  *#readOddArguments(): Reading<boolean> {
    const read = yield* readWholeJson(this.#context.scanner);
    if (!read) return false;
    const text = read.value === null ? '{}' : read.value;
    if (typeof text !== 'string' || !isObjectText(text)) return false;
    if (this.#name === undefined) this.#early = text;
    else this.#context.emitArguments(text);
    this.#hasArguments = true;
    return true;
  }

  close(): boolean {
    if (this.#name === undefined) return false;
    if (!this.#hasArguments) this.#context.emitArguments('{}');
    this.#context.endCall('whole', this.#wasIdTold ? undefined : this.#id);
    return true;
  }

  /** Ends a call whose object is cut off or malformed: it is a call if its arguments are there. */
  broken(): boolean {
    if (this.#name === undefined || !this.#context.tools.has(this.#name)) return false;
    this.#context.endCall(this.#hasArguments ? 'whole' : incompleteOutcome(this.#context.scanner));
    return true;
  }
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

import type { Budget } from './budget.ts';
import { raise } from './jinja-error.ts';
import { parseJson } from './parse-json.ts';
import { type Spans, Str } from './str.ts';
import { Dict, List, PyObject, type Value } from './values.ts';

/** JSON text in place of its value: unlike `JSON.parse`, parsing it here distinguishes large integers from floats. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** Input that counts as the template's own text: all of it, or the given spans. */
export class TrustedText {
  constructor(
    readonly text: string,
    readonly written: Spans = text === '' ? [] : [0, text.length],
  ) {}
}

/** JavaScript writes smaller numbers into JSON without an exponent, so Python reads them as ints. */
const MIN_WITH_EXPONENT = 1e21;

/**
 * The Python value of a JavaScript value, as if it were passed as JSON. Throws `JinjaError` for values that JSON cannot
 * represent.
 */
export function fromJavaScript(value: unknown, budget: Budget): Value {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null;
  if (typeof value === 'string') {
    budget.allowFor(value.length);
    return Str.outside(value);
  }
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return fromNumber(value);
  if (typeof value !== 'object') return raise(`a ${typeof value} is no value for a template`);
  if (value instanceof TrustedText) {
    budget.allowFor(value.text.length);
    return new Str(value.text, value.written);
  }
  if (value instanceof JsonText) return parseJson(value.text, budget);
  if (value instanceof Date) return Str.outside(value.toISOString());
  if (value instanceof PyObject) return value;
  budget.enter();
  const converted = fromObject(value, budget);
  budget.leave();
  return converted;
}

function fromNumber(value: number): Value {
  return Number.isInteger(value) && Math.abs(value) < MIN_WITH_EXPONENT ? BigInt(value) : value;
}

function fromObject(value: object, budget: Budget): Value {
  if (Array.isArray(value)) return new List(value.map((item: unknown) => fromJavaScript(item, budget)));
  const dict = new Dict();
  for (const [key, item] of Object.entries(value)) {
    budget.spend();
    if (item !== undefined) dict.set(Str.outside(key), fromJavaScript(item, budget));
  }
  return dict;
}

import type { Budget } from './budget.ts';
import { raise } from './jinja-error.ts';
import { parseJson } from './parse-json.ts';
import { type Spans, Str } from './str.ts';
import { Dict, List, PyObject, type Value } from './values.ts';

/** JSON text in place of the value it stands for: unlike `JSON.parse`, reading it keeps large integers and floats apart. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** A text that counts as the template's own though it comes from outside: all of it, or the stretches that are given. */
export class TrustedText {
  constructor(
    readonly text: string,
    readonly written: Spans = text === '' ? [] : [0, text.length],
  ) {}
}

/** Numbers that JavaScript writes into JSON without an exponent, and Python therefore reads as ints. */
const MIN_WITH_EXPONENT = 1e21;

/** The Python value of a JavaScript value, as if it went through JSON. Throws `JinjaError` for what JSON does not have. */
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

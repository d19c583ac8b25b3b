import { raise } from './jinja-error.ts';
import { Str } from './str.ts';
import {
  type Context,
  Dict,
  DictView,
  iterate,
  List,
  Namespace,
  numberOf,
  PyObject,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
  valuesOf,
} from './values.ts';

/** Python's `==`. */
export function equals(a: Value, b: Value, context: Context): boolean {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined || right !== undefined) {
    // JavaScript compares an int with a float by their exact values, as Python does.
    // oxlint-disable-next-line eqeqeq
    return left !== undefined && right !== undefined && left == right;
  }
  if (a instanceof Str && b instanceof Str) {
    if (a.text.length !== b.text.length) return false;
    context.budget.spend(a.text.length >> 5);
    return a.text === b.text;
  }
  if (a instanceof Str || b instanceof Str) return false;
  if (!(a instanceof PyObject) || !(b instanceof PyObject)) return a === b;
  return a === b || equalObjects(a, b, context);
}

function equalObjects(a: PyObject, b: PyObject, context: Context): boolean {
  context.budget.enter();
  try {
    if (a instanceof Undefined) return b instanceof Undefined;
    if (a instanceof List) return b instanceof List && equalItems(a.items, b.items, context);
    if (a instanceof Tuple) return b instanceof Tuple && equalItems(a.items, b.items, context);
    if (a instanceof Dict) return b instanceof Dict && equalDicts(a, b, context);
    return a instanceof Range && b instanceof Range && equalRanges(a, b);
  } finally {
    context.budget.leave();
  }
}

/** Compares as sequences. */
function equalRanges(a: Range, b: Range): boolean {
  const length = a.length();
  if (length !== b.length()) return false;
  return length === 0 || (a.start === b.start && (length === 1 || a.step === b.step));
}

function equalItems(a: readonly Value[], b: readonly Value[], context: Context): boolean {
  context.budget.spend(Math.min(a.length, b.length));
  return a.length === b.length && a.every((item, i) => equals(item, b[i] as Value, context));
}

function equalDicts(a: Dict, b: Dict, context: Context): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a.pairs()) {
    const other = b.get(key);
    if (other === undefined || !equals(value, other, context)) return false;
  }
  return true;
}

/** Negative, zero or positive, by Python's order; NaN if neither is less. Throws if Python does not order them. */
export function compare(a: Value, b: Value, operator: string, context: Context): number {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) {
    // oxlint-disable-next-line eqeqeq
    return left < right ? -1 : left > right ? 1 : left == right ? 0 : Number.NaN;
  }
  if (a instanceof Str && b instanceof Str) return compareTexts(a.text, b.text);
  if ((a instanceof List && b instanceof List) || (a instanceof Tuple && b instanceof Tuple)) {
    return compareItems(a.items, b.items, operator, context);
  }
  for (const value of [a, b]) if (value instanceof Undefined) value.fail();
  return raise(`'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

function compareItems(a: readonly Value[], b: readonly Value[], operator: string, context: Context): number {
  context.budget.enter();
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left, right] = [a[i] as Value, b[i] as Value];
    if (equals(left, right, context)) continue;
    const order = compare(left, right, operator, context);
    context.budget.leave();
    return order;
  }
  context.budget.leave();
  return a.length - b.length;
}

/** Compares by code points: UTF-16 units would order code points beyond U+FFFF before U+E000. */
function compareTexts(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) {
    if (a[i] === b[i]) continue;
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    const [high, low] = [isSurrogate(left), isSurrogate(right)];
    return high === low ? left - right : high ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Values in ascending order of their keys (stable). */
export function sorted(
  values: readonly Value[],
  key: (value: Value) => Value,
  reverse: boolean,
  context: Context,
): Value[] {
  const keyed = values.map((value) => ({ value, key: key(value) }));
  const sign = reverse ? -1 : 1;
  keyed.sort((a, b) => {
    context.budget.spend();
    return sign * compare(a.key, b.key, '<', context) || 0;
  });
  return keyed.map(({ value }) => value);
}

/** Python's `in`. */
export function contains(container: Value, value: Value, context: Context): boolean {
  if (container instanceof Str) {
    if (value instanceof Undefined) value.fail();
    if (!(value instanceof Str)) {
      raise(`'in <string>' requires string as left operand, not ${typeName(value)}`);
    }
    context.budget.spendText(container.text.length);
    return container.text.includes(value.text);
  }
  if (container instanceof Dict) return container.get(value) !== undefined;
  if (container instanceof DictView && container.of === 'keys')
    return container.dict.get(value) !== undefined;
  if (container instanceof Namespace || !valuesOf(container, context)) {
    raise(`argument of type '${typeName(container)}' is not iterable`);
  }
  for (const item of iterate(container, context)) if (equals(item, value, context)) return true;
  return false;
}

import { JinjaError, raise } from './jinja-error.ts';
import { DICT_METHODS, LIST_METHODS, TUPLE_METHODS } from './collection-methods.ts';
import type { Method } from './method.ts';
import { NUMBER_METHODS } from './number-methods.ts';
import { Str, StrBuilder } from './str.ts';
import { STR_METHODS } from './str-methods.ts';
import { repr } from './text-of.ts';
import {
  Builtin,
  type Context,
  Dict,
  lengthOf,
  List,
  numberOf,
  PyObject,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

/** Methods of lists and dicts that templates may not use because they modify them. */
const CHANGING: Readonly<Record<string, ReadonlySet<string>>> = {
  list: new Set(['append', 'clear', 'reverse', 'insert', 'sort', 'extend', 'remove', 'pop']),
  dict: new Set(['clear', 'pop', 'popitem', 'setdefault', 'update']),
};
/** Attributes of every Python object that templates may not access. */
const INTERNAL =
  /^__(?:class|delattr|dir|doc|eq|format|ge|getattribute|getstate|gt|hash|init|init_subclass|le|lt|ne|new|reduce|reduce_ex|repr|setattr|sizeof|str|subclasshook|dict|mro|subclasses|globals|code|len|iter|contains|getitem|call)__$/;

/** `object.name`: the attribute, otherwise the item of that name. Throws if the object itself is undefined. */
export function getAttribute(object: Value, name: string, context: Context): Value {
  const attribute = attributeOf(object, name, context);
  if (attribute !== undefined) return attribute;
  const item = object instanceof Dict ? object.named(name) : undefined;
  return item === undefined ? withoutAttribute(object, name) : item;
}

function withoutAttribute(object: Value, name: string): Undefined {
  return new Undefined(`'${describeObject(object)}' has no attribute '${name}'`);
}

/** `object[index]`: the item, otherwise the attribute of that name. Throws if the object itself is undefined. */
export function getItem(object: Value, index: Value, context: Context): Value {
  if (object instanceof Undefined) object.fail();
  const item = itemOf(object, index);
  if (item !== undefined) return item;
  if (!(index instanceof Str)) {
    return new Undefined(`${describeObject(object)} has no element ${repr(index, context).text}`);
  }
  const attribute = attributeOf(object, index.text, context);
  return attribute === undefined ? withoutAttribute(object, index.text) : attribute;
}

function describeObject(object: Value): string {
  return object === null ? 'None' : `${typeName(object)} object`;
}

function itemOf(object: Value, index: Value): Value | undefined {
  if (object instanceof Dict) return unlessUnhashable(() => object.get(index));
  const number = typeof index === 'boolean' ? BigInt(index) : index;
  if (typeof number !== 'bigint') return undefined;
  if (object instanceof Str) {
    const at = within(number, object.length);
    return at === undefined ? undefined : object.at(at);
  }
  if (object instanceof List || object instanceof Tuple) {
    const at = within(number, object.items.length);
    return at === undefined ? undefined : object.items[at];
  }
  if (!(object instanceof Range)) return undefined;
  const at = within(number, object.length());
  return at === undefined ? undefined : object.start + BigInt(at) * object.step;
}

function unlessUnhashable(get: () => Value | undefined): Value | undefined {
  try {
    return get();
  } catch (error) {
    if (error instanceof JinjaError && error.kind === 'runtime') return undefined;
    throw error;
  }
}

function within(index: bigint, length: number): number | undefined {
  const at = index < 0n ? index + BigInt(length) : index;
  return at >= 0n && at < BigInt(length) ? Number(at) : undefined;
}

/** A property or a method; undefined if there is none of that name. */
export function attributeOf(object: Value, name: string, context: Context): Value | undefined {
  if (object instanceof Undefined) return object.fail();
  const kind = object instanceof Str ? 'str' : typeName(object);
  if (INTERNAL.test(name) || CHANGING[kind]?.has(name) === true) {
    return new Undefined(`access to attribute '${name}' of '${typeName(object)}' object is unsafe.`);
  }
  const method = METHODS[kind]?.get(name);
  if (method) return new Builtin(name, (args, caller) => method(object, args, caller));
  if (typeof object === 'boolean' || typeof object === 'bigint' || typeof object === 'number') {
    return numberProperty(object, name);
  }
  return object instanceof PyObject ? object.attribute(name, context) : undefined;
}

const METHODS: Readonly<Record<string, ReadonlyMap<string, Method>>> = {
  str: STR_METHODS,
  list: LIST_METHODS,
  tuple: TUPLE_METHODS,
  dict: DICT_METHODS,
  ...NUMBER_METHODS,
};

function numberProperty(object: boolean | bigint | number, name: string): Value | undefined {
  const number = numberOf(object) as bigint | number;
  if (name === 'real') return number;
  if (name === 'imag') return typeof number === 'bigint' ? 0n : 0;
  if (typeof number !== 'bigint') return undefined;
  return name === 'numerator' ? number : name === 'denominator' ? 1n : undefined;
}

/** The bounds of a slice. */
export interface SliceBounds {
  readonly start: Value;
  readonly stop: Value;
  readonly step: Value;
}

/** `object[start:stop:step]`. */
export function getSlice(object: Value, bounds: SliceBounds, context: Context): Value {
  if (object instanceof Undefined) object.fail();
  if (object instanceof Dict) raise("unhashable type: 'slice'");
  const sliceable =
    object instanceof Str || object instanceof List || object instanceof Tuple || object instanceof Range;
  if (!sliceable) raise(`'${typeName(object)}' object is not subscriptable`);
  const { start, count, step } = resolve(bounds, lengthOf(object, context));
  context.budget.spend(count);
  if (object instanceof Str) return sliceText(object, start, count, step, context);
  if (object instanceof Range) {
    const first = object.start + BigInt(start) * object.step;
    const by = object.step * BigInt(step);
    return new Range(first, first + by * BigInt(count), by);
  }
  const items = Array.from({ length: count }, (_, i) => object.items[start + i * step] as Value);
  return object instanceof List ? new List(items) : new Tuple(items);
}

function sliceText(str: Str, start: number, count: number, step: number, context: Context): Str {
  if (step === 1) return str.cut(str.offsetOf(start), str.offsetOf(start + count));
  const builder = new StrBuilder(context.budget);
  for (let i = 0; i < count; i++) builder.add(str.at(start + i * step));
  return builder.done(str.safe);
}

function resolve(bounds: SliceBounds, length: number): { start: number; count: number; step: number } {
  const step = bound(bounds.step) ?? 1;
  if (step === 0) raise('slice step cannot be zero');
  const lowest = step > 0 ? 0 : -1;
  const highest = step > 0 ? length : length - 1;
  const clamp = (value: number | undefined, standard: number) => {
    if (value === undefined) return standard;
    return Math.min(highest, Math.max(lowest, value < 0 ? value + length : value));
  };
  const start = clamp(bound(bounds.start), step > 0 ? lowest : highest);
  const stop = clamp(bound(bounds.stop), step > 0 ? highest : lowest);
  return { start, count: Math.max(0, Math.ceil((stop - start) / step)), step };
}

function bound(value: Value): number | undefined {
  if (value === null) return undefined;
  const number = numberOf(value);
  if (typeof number !== 'bigint') raise('slice indices must be integers or None or have an __index__ method');
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(number)));
}

import type { Budget } from './budget.ts';
import { raise } from './jinja-error.ts';
import { Str } from './str.ts';

/** A Python value: None, bool, int, float, str, or any other as an object. */
export type Value = null | boolean | bigint | number | Str | PyObject;

/** The arguments of a call. */
export interface Args {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** The parts of the rendering that functions may use. */
export interface Context {
  readonly budget: Budget;
  /** `value.name`. */
  attribute(value: Value, name: string): Value;
  /** `value[index]`. */
  item(value: Value, index: Value): Value;
  /** Applies a filter by name. */
  filter(name: string, value: Value, args: Args): Value;
  /** Applies a test by name. */
  test(name: string, value: Value, args: Args): boolean;
}

/** A value that is neither a number nor a string. */
export abstract class PyObject {
  /** Its name in Python's `type`. */
  abstract readonly typeName: string;

  /** Its items; undefined if it is not iterable. */
  iterate(_context: Context): Iterator<Value> | undefined {
    return undefined;
  }

  /** Python's `len`; undefined if it has none. */
  length(_context: Context): number | undefined {
    return undefined;
  }

  /** Its text when a template prints it. */
  describe(): string {
    return `<${this.typeName} object>`;
  }

  /** Its own property or method of this name, or undefined. */
  attribute(_name: string, _context: Context): Value | undefined {
    return undefined;
  }
}

/** A Python list. */
export class List extends PyObject {
  readonly typeName = 'list';

  constructor(readonly items: readonly Value[]) {
    super();
  }

  override iterate(): Iterator<Value> {
    return this.items[Symbol.iterator]();
  }

  override length(): number {
    return this.items.length;
  }
}

/** A Python tuple. */
export class Tuple extends PyObject {
  readonly typeName = 'tuple';

  /** `names`: the names of a named tuple's items. */
  constructor(
    readonly items: readonly Value[],
    readonly names: readonly string[] = [],
  ) {
    super();
  }

  override iterate(): Iterator<Value> {
    return this.items[Symbol.iterator]();
  }

  override length(): number {
    return this.items.length;
  }

  override attribute(name: string): Value | undefined {
    const at = this.names.indexOf(name);
    return at < 0 ? undefined : this.items[at];
  }
}

/** The key by which a dict finds an entry. */
export type Key = string | bigint | number | null | PyObject | typeof UNDEFINED_KEY;

/** Maximum length of a tuple's key in UTF-16 units. */
const MAX_KEY_LENGTH = 1 << 20;
/** All undefined values share one key. */
export const UNDEFINED_KEY = Symbol('undefined');

/** A Python dict, in insertion order. */
export class Dict extends PyObject {
  readonly typeName = 'dict';
  readonly #entries = new Map<Key, readonly [Value, Value]>();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    super();
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(keyOf(key))?.[1];
  }

  /** The value of a string key. */
  named(name: string): Value | undefined {
    return this.#entries.get(textKey(name))?.[1];
  }

  /** Only for code that creates the dict: templates cannot modify one. An existing key keeps its spelling. */
  set(key: Value, value: Value): void {
    const found = keyOf(key);
    const entry = this.#entries.get(found);
    this.#entries.set(found, [entry ? entry[0] : key, value]);
  }

  pairs(): IterableIterator<readonly [Value, Value]> {
    return this.#entries.values();
  }

  override *iterate(): Iterator<Value> {
    for (const [key] of this.#entries.values()) yield key;
  }

  override length(): number {
    return this.#entries.size;
  }
}

/** The dict key of a value: equal values have the same key. Throws for mutable values. */
export function keyOf(value: Value): Key {
  if (value instanceof Str) return textKey(value.text);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (value === null || typeof value === 'bigint') return value;
  if (value instanceof Tuple) return tupleKey(value);
  if (value instanceof Undefined) return UNDEFINED_KEY;
  if (value instanceof List || value instanceof Dict) raise(`unhashable type: '${value.typeName}'`);
  return value;
}

/** Nested tuples may repeat the same ones, so that their text would grow without bound. */
function tupleKey({ items }: Tuple): string {
  const keys = items.map(spelledKey);
  const length = keys.reduce((total, key) => total + key.length, 0);
  if (length > MAX_KEY_LENGTH) raise(`a tuple as a key of more than ${MAX_KEY_LENGTH} characters`);
  return `\0tuple${JSON.stringify(keys)}`;
}

function textKey(text: string): string {
  return text.startsWith('\0') ? `\0${text}` : text;
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

function spelledKey(value: Value): string {
  const key = keyOf(value);
  if (key === null || typeof key !== 'object') return `${typeof key}:${String(key)}`;
  const identity = identities.get(key) ?? ++lastIdentity;
  identities.set(key, identity);
  return `object:${identity}`;
}

/** A missing value: prints as nothing, and any other use of it throws. */
export class Undefined extends PyObject {
  readonly typeName = 'Undefined';

  /** `message`: the error when it is used. */
  constructor(readonly message: string) {
    super();
  }

  /** Throws. */
  fail(): never {
    return raise(this.message);
  }

  override iterate(): Iterator<Value> {
    return [][Symbol.iterator]();
  }

  override length(): number {
    return 0;
  }
}

/** A callable value. */
export abstract class Callable extends PyObject {
  abstract call(args: Args, context: Context): Value;
}

/** A function implemented here. */
export class Builtin extends Callable {
  readonly typeName = 'builtin_function_or_method';
  readonly #run: (args: Args, context: Context) => Value;

  constructor(
    readonly name: string,
    run: (args: Args, context: Context) => Value,
  ) {
    super();
    this.#run = run;
  }

  override call(args: Args, context: Context): Value {
    return this.#run(args, context);
  }
}

/** A sequence that can be consumed only once: the result of `map` and `select`. */
export class Generator extends PyObject {
  readonly #values: Iterator<Value>;

  constructor(
    values: Iterable<Value>,
    readonly typeName = 'generator',
  ) {
    super();
    this.#values = values[Symbol.iterator]();
  }

  override iterate(): Iterator<Value> {
    return this.#values;
  }
}

/** `keys()`, `values()` or `items()` of a dict. */
export class DictView extends PyObject {
  readonly typeName: string;

  constructor(
    readonly dict: Dict,
    readonly of: 'keys' | 'values' | 'items',
  ) {
    super();
    this.typeName = `dict_${of}`;
  }

  override *iterate(): Iterator<Value> {
    for (const [key, value] of this.dict.pairs()) {
      yield this.of === 'keys' ? key : this.of === 'values' ? value : new Tuple([key, value]);
    }
  }

  override length(): number {
    return this.dict.size;
  }
}

/** Python's `range`. */
export class Range extends PyObject {
  readonly typeName = 'range';

  constructor(
    readonly start: bigint,
    readonly stop: bigint,
    readonly step: bigint,
  ) {
    super();
  }

  override *iterate(): Iterator<Value> {
    const count = this.length();
    for (let i = 0; i < count; i++) yield this.start + BigInt(i) * this.step;
  }

  /** May be huge: whoever creates one must check it. */
  override length(): number {
    const { start, stop, step } = this;
    const span = step > 0n ? stop - start : start - stop;
    const by = step > 0n ? step : -step;
    return span <= 0n ? 0 : Number((span + by - 1n) / by);
  }
}

/** Jinja2's `namespace`, the only object that a template can modify. */
export class Namespace extends PyObject {
  readonly typeName = 'Namespace';
  readonly attributes = new Map<string, Value>();

  override attribute(name: string): Value | undefined {
    return this.attributes.get(name);
  }
}

/** A value's name in Python's `type`. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'float';
  if (value instanceof Str) return value.safe ? 'Markup' : 'str';
  return value.typeName;
}

/** Python's `bool`. */
export function truth(value: Value, context: Context): boolean {
  if (value === null) return false;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value === 'number') return value !== 0;
  if (value instanceof Str) return value.text !== '';
  const length = value.length(context);
  return length === undefined || length > 0;
}

/** The items of a value; undefined if it is not iterable. */
export function valuesOf(value: Value, context: Context): Iterator<Value> | undefined {
  if (value instanceof Str) return characters(value, context);
  return value instanceof PyObject ? value.iterate(context) : undefined;
}

/** The items of a value, each counted in the budget. Throws if it is not iterable. */
export function* iterate(value: Value, context: Context): IterableIterator<Value> {
  const values = valuesOf(value, context);
  if (!values) raise(`'${typeName(value)}' object is not iterable`);
  for (let next = values.next(); !next.done; next = values.next()) {
    context.budget.spend();
    yield next.value;
  }
}

/** All items of a value. */
export function listOf(value: Value, context: Context): readonly Value[] {
  if (value instanceof List || value instanceof Tuple) {
    context.budget.spend(value.items.length);
    return value.items;
  }
  return [...iterate(value, context)];
}

function* characters(str: Str, { budget }: Context): IterableIterator<Value> {
  const { length } = str;
  for (let i = 0; i < length; i++) {
    budget.make();
    yield str.at(i).marked(false);
  }
}

/** Python's `len`. */
export function lengthOf(value: Value, context: Context): number {
  if (value instanceof Str) return value.length;
  const length = value instanceof PyObject ? value.length(context) : undefined;
  return length ?? raise(`object of type '${typeName(value)}' has no len()`);
}

/** The number that a bool, an int or a float has in arithmetic. */
export function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'bigint' || typeof value === 'number' ? value : undefined;
}

/** An index, a count or a width. Throws if the value is not an int. */
export function integerOf(value: Value): number {
  const number = numberOf(value);
  if (typeof number !== 'bigint') raise(`'${typeName(value)}' object cannot be interpreted as an integer`);
  return Number(number);
}

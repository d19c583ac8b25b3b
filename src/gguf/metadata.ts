import type { UnsharedBytes } from '../base/web-types.ts';
import { fail, invariant } from '../base/errors.ts';
import {
  type ArrayRange,
  arrayRange,
  bytesOf,
  decodeNumber,
  decodeNumbers,
  decodeValue,
  type MetadataValue,
} from './decode-value.ts';
import type { ValueRange } from './scan-metadata.ts';
import { decodeText, decodeTexts, forEachString } from './utf8.ts';
import { isNumberType, type ValueType } from './value-type.ts';

/** A value's type as displayed: `u32`, `string`, `f32[]`, `i32[][]`. */
export type TypeName = ValueType | `${ValueType}${string}`;

/** A value as stored in the file: the bytes after the type id. Writers write it unchanged. */
export interface EncodedValue {
  readonly type: ValueType;
  readonly payload: Uint8Array;
}

/**
 * The metadata of a GGUF file. Values are decoded on request; arrays are decoded once and cached, so the same array is
 * returned every time (do not modify it). A getter returns undefined for a missing key and throws `GGUF_METADATA_TYPE`
 * for a value of another type; its `require` variant throws `GGUF_METADATA_MISSING` for a missing key.
 */
export class GgufMetadata {
  readonly #source: string;
  readonly #header: DataView<ArrayBuffer>;
  readonly #ranges: ReadonlyMap<string, ValueRange>;
  readonly #arrays = new Map<string, MetadataValue>();

  /** Created by `GgufFile.open`; `ranges` are validated positions in `header`. */
  constructor(source: string, header: UnsharedBytes, ranges: ReadonlyMap<string, ValueRange>) {
    this.#source = source;
    this.#header = new DataView(header.buffer, header.byteOffset, header.byteLength);
    this.#ranges = ranges;
  }

  /** Number of keys. */
  get size(): number {
    return this.#ranges.size;
  }

  has(key: string): boolean {
    return this.#ranges.has(key);
  }

  /** All keys in file order. */
  keys(): IterableIterator<string> {
    return this.#ranges.keys();
  }

  /** The type of a value; for arrays, including the element type. */
  typeOf(key: string): TypeName | undefined {
    const range = this.#ranges.get(key);
    if (range?.type !== 'array') return range?.type;
    let array = arrayRange(this.#header, range.start);
    let suffix = '[]';
    while (array.element === 'array' && array.count > 0) {
      array = arrayRange(this.#header, array.start);
      suffix += '[]';
    }
    return `${array.element}${suffix}`;
  }

  /** The length of an array without decoding it; undefined for a missing key and for values that are not arrays. */
  lengthOf(key: string): number | undefined {
    const range = this.#ranges.get(key);
    return range?.type === 'array' ? arrayRange(this.#header, range.start).count : undefined;
  }

  /** Any value, decoded. In text that is not UTF-8, U+FFFD replaces invalid bytes. */
  get(key: string): MetadataValue | undefined {
    const range = this.#ranges.get(key);
    if (!range) return undefined;
    const decode = () => decodeValue(this.#header, range.type, range.start, range.end);
    return range.type === 'array' ? this.#once(`any ${key}`, decode) : decode();
  }

  /** The value as stored in the file, not copied. */
  encoded(key: string): EncodedValue | undefined {
    const range = this.#ranges.get(key);
    return range && { type: range.type, payload: bytesOf(this.#header, range.start, range.end) };
  }

  string(key: string): string | undefined {
    const range = this.#single(key, 'string');
    return range && decodeText(bytesOf(this.#header, range.start + 8, range.end));
  }

  boolean(key: string): boolean | undefined {
    const range = this.#single(key, 'bool');
    return range && this.#header.getUint8(range.start) === 1;
  }

  /** A value of any numeric type. An integer that a double cannot represent is a type error. */
  number(key: string): number | undefined {
    const range = this.#ranges.get(key);
    if (!range) return undefined;
    if (!isNumberType(range.type)) return this.#wrongType(key, 'a number');
    const value = decodeNumber(this.#header, range.type, range.start);
    if (typeof value === 'bigint') return this.#wrongType(key, 'an integer below 2^53', `${value}`);
    return value;
  }

  /** An array of strings. */
  strings(key: string): readonly string[] | undefined {
    const array = this.#array(key, 'string');
    if (!array) return undefined;
    const { range } = array;
    return this.#once(`text ${key}`, () => decodeTexts(bytesOf(this.#header), range.start, range.count));
  }

  /** An array of strings as raw bytes, not copied, because a token's bytes need not be UTF-8. */
  byteStrings(key: string): readonly Uint8Array[] | undefined {
    const array = this.#array(key, 'string');
    if (!array) return undefined;
    const { start, count } = array.range;
    const header = bytesOf(this.#header);
    const strings: Uint8Array[] = [];
    forEachString(header, start, count, (from, to) => strings.push(header.subarray(from, to)));
    return strings;
  }

  /** An array of any numeric type: a typed array of the stored width, doubles for 64-bit integers. */
  numbers(key: string): ArrayLike<number> | undefined {
    const array = this.#array(key);
    if (!array) return undefined;
    const { element } = array.range;
    if (!isNumberType(element)) return this.#wrongType(key, 'an array of numbers');
    const numbers = this.#once(`numbers ${key}`, () => decodeNumbers(this.#header, element, array.range));
    if (isBigints(numbers)) return this.#wrongType(key, 'an array of integers below 2^53');
    return numbers;
  }

  /** An array of booleans. */
  booleans(key: string): readonly boolean[] | undefined {
    const array = this.#array(key, 'bool');
    if (!array) return undefined;
    return this.#once(`booleans ${key}`, () =>
      Array.from(bytesOf(this.#header, array.range.start, array.end), (byte) => byte === 1),
    );
  }

  requireString(key: string): string {
    return this.string(key) ?? this.#missing(key, 'a string');
  }

  requireBoolean(key: string): boolean {
    return this.boolean(key) ?? this.#missing(key, 'a boolean');
  }

  requireNumber(key: string): number {
    return this.number(key) ?? this.#missing(key, 'a number');
  }

  requireStrings(key: string): readonly string[] {
    return this.strings(key) ?? this.#missing(key, 'an array of strings');
  }

  requireNumbers(key: string): ArrayLike<number> {
    return this.numbers(key) ?? this.#missing(key, 'an array of numbers');
  }

  #single(key: string, type: 'string' | 'bool'): ValueRange | undefined {
    const range = this.#ranges.get(key);
    if (range && range.type !== type) this.#wrongType(key, type);
    return range;
  }

  #array(key: string, element?: ValueType): { range: ArrayRange; end: number } | undefined {
    const range = this.#ranges.get(key);
    if (!range) return undefined;
    if (range.type !== 'array') return this.#wrongType(key, `an array${element ? ` of ${element}` : ''}`);
    const array = arrayRange(this.#header, range.start);
    if (element && array.element !== element) return this.#wrongType(key, `${element}[]`);
    return { range: array, end: range.end };
  }

  #once<T extends MetadataValue>(name: string, decode: () => T): T {
    const known = this.#arrays.get(name);
    if (known !== undefined) return known as T;
    const value = decode();
    this.#arrays.set(name, value);
    return value;
  }

  #wrongType(key: string, expected: string, value?: string): never {
    const type = this.typeOf(key);
    invariant(type, `type of the present key ${key}`);
    const found = value === undefined ? type : `${type} ${value}`;
    fail('GGUF_METADATA_TYPE', { source: this.#source, key, found, expected });
  }

  #missing(key: string, expected: string): never {
    fail('GGUF_METADATA_MISSING', { source: this.#source, key, expected });
  }
}

function isBigints(values: ArrayLike<number> | bigint[]): values is bigint[] {
  return typeof values[0] === 'bigint';
}

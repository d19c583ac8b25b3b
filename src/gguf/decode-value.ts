import { decodeText, decodeTexts } from './utf8.ts';
import { MIN_VALUE_BYTES, type NumberType, VALUE_TYPES, type ValueType } from './value-type.ts';

/** A decoded metadata array. Numbers come as typed arrays; 64-bit integers beyond 2^53 as bigint. */
export type MetadataArray =
  ArrayLike<number> | readonly bigint[] | readonly boolean[] | readonly string[] | readonly MetadataArray[];

/** A decoded metadata value. */
export type MetadataValue = number | bigint | boolean | string | MetadataArray;

/** The layout of an array's payload: element type, length and the position of the elements. */
export interface ArrayRange {
  readonly element: ValueType;
  readonly count: number;
  readonly start: number;
}

/** Reads the head of an array whose bytes the scan has validated. */
export function arrayRange(header: DataView, start: number): ArrayRange {
  const element = VALUE_TYPES[header.getUint32(start, true)] as ValueType;
  const count = header.getUint32(start + 8, true) * 2 ** 32 + header.getUint32(start + 4, true);
  return { element, count, start: start + 12 };
}

/** Reads one number at `at`; a bigint only if a double cannot represent it. */
export function decodeNumber(header: DataView, type: NumberType, at: number): number | bigint {
  switch (type) {
    case 'u8':
      return header.getUint8(at);
    case 'i8':
      return header.getInt8(at);
    case 'u16':
      return header.getUint16(at, true);
    case 'i16':
      return header.getInt16(at, true);
    case 'u32':
      return header.getUint32(at, true);
    case 'i32':
      return header.getInt32(at, true);
    case 'f32':
      return header.getFloat32(at, true);
    case 'f64':
      return header.getFloat64(at, true);
    case 'u64':
      return narrow(header.getBigUint64(at, true));
    case 'i64':
      return narrow(header.getBigInt64(at, true));
  }
}

/** The elements of a numeric array, as a typed array of the same width (doubles for 64-bit integers). */
export function decodeNumbers(
  header: DataView,
  type: NumberType,
  range: ArrayRange,
): ArrayLike<number> | bigint[] {
  const { start, count } = range;
  const length = count * MIN_VALUE_BYTES[type];
  const at = header.byteOffset + start;
  const copy = () => header.buffer.slice(at, at + length);
  switch (type) {
    case 'u8':
      return new Uint8Array(copy());
    case 'i8':
      return new Int8Array(copy());
    case 'u16':
      return new Uint16Array(copy());
    case 'i16':
      return new Int16Array(copy());
    case 'u32':
      return new Uint32Array(copy());
    case 'i32':
      return new Int32Array(copy());
    case 'f32':
      return new Float32Array(copy());
    case 'f64':
      return new Float64Array(copy());
    case 'u64':
      return narrowAll(new BigUint64Array(copy()));
    case 'i64':
      return narrowAll(new BigInt64Array(copy()));
  }
}

/** Decodes any value, including nested arrays. `start` to `end` are its bytes in the header. */
export function decodeValue(header: DataView, type: ValueType, start: number, end: number): MetadataValue {
  if (type === 'bool') return header.getUint8(start) === 1;
  if (type === 'string') return decodeText(bytesOf(header, start + 8, end));
  if (type === 'array') return decodeArray(header, start).value;
  return decodeNumber(header, type, start);
}

/** The bytes `from` to `to` of the header, not copied. */
export function bytesOf(header: DataView, from = 0, to = header.byteLength): Uint8Array {
  return new Uint8Array(header.buffer, header.byteOffset + from, to - from);
}

function decodeArray(header: DataView, at: number): { value: MetadataArray; end: number } {
  const range = arrayRange(header, at);
  const { element, count, start } = range;
  if (element === 'string') {
    const end = endOfStrings(header, start, count);
    return { value: decodeTexts(bytesOf(header), start, count), end };
  }
  if (element === 'array') return decodeNested(header, start, count);
  const end = start + count * MIN_VALUE_BYTES[element];
  if (element !== 'bool') return { value: decodeNumbers(header, element, range), end };
  return { value: Array.from(bytesOf(header, start, end), (byte) => byte === 1), end };
}

function decodeNested(header: DataView, start: number, count: number): { value: MetadataArray; end: number } {
  const value: MetadataArray[] = [];
  let end = start;
  for (let index = 0; index < count; index++) {
    const inner = decodeArray(header, end);
    value.push(inner.value);
    end = inner.end;
  }
  return { value, end };
}

function endOfStrings(header: DataView, start: number, count: number): number {
  let end = start;
  for (let index = 0; index < count; index++) {
    end += 8 + header.getUint32(end + 4, true) * 2 ** 32 + header.getUint32(end, true);
  }
  return end;
}

function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function narrowAll(values: BigUint64Array | BigInt64Array): ArrayLike<number> | bigint[] {
  const numbers = Float64Array.from(values, Number);
  return numbers.every(Number.isSafeInteger) ? numbers : Array.from(values);
}

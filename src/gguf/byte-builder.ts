import { fail } from '../base/errors.ts';
import type { TextValue } from './gguf-value.ts';
import { MIN_VALUE_BYTES, type NumberType } from './value-type.ts';

const encoder = new TextEncoder();

/** The smallest and largest integer of each type; floats take any number. */
const RANGES: Readonly<Partial<Record<NumberType, readonly [number | bigint, number | bigint]>>> = {
  u8: [0, 0xff],
  i8: [-0x80, 0x7f],
  u16: [0, 0xffff],
  i16: [-0x8000, 0x7fff],
  u32: [0, 0xffff_ffff],
  i32: [-0x8000_0000, 0x7fff_ffff],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Builds little-endian data in a growing buffer. */
export class ByteBuilder {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get byteLength(): number {
    return this.#length;
  }

  /** The bytes written so far, not copied. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  raw(bytes: Uint8Array): void {
    const at = this.#grow(bytes.byteLength);
    this.#bytes.set(bytes, at);
  }

  u32(value: number): void {
    this.number('u32', value);
  }

  /** A length, count or offset. */
  u64(value: number): void {
    const at = this.#grow(8);
    this.#view.setUint32(at, value >>> 0, true);
    this.#view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
  }

  /** Writes an 8-byte length, then the text. */
  text(value: TextValue): void {
    const bytes = typeof value === 'string' ? encoder.encode(value) : value;
    this.u64(bytes.byteLength);
    this.raw(bytes);
  }

  /** Throws `INVALID_ARGUMENT` for a number that the type cannot hold. */
  number(type: NumberType, value: number | bigint): void {
    checkRange(type, value);
    const at = this.#grow(MIN_VALUE_BYTES[type]);
    const view = this.#view;
    switch (type) {
      case 'u8':
      case 'i8':
        view.setUint8(at, Number(value));
        break;
      case 'u16':
      case 'i16':
        view.setUint16(at, Number(value), true);
        break;
      case 'u32':
      case 'i32':
        view.setUint32(at, Number(value), true);
        break;
      case 'f32':
        view.setFloat32(at, Number(value), true);
        break;
      case 'f64':
        view.setFloat64(at, Number(value), true);
        break;
      default:
        view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
    }
  }

  #grow(length: number): number {
    const at = this.#length;
    this.#length += length;
    if (this.#length > this.#bytes.byteLength) {
      const grown = new Uint8Array(Math.max(2 * this.#bytes.byteLength, this.#length));
      grown.set(this.#bytes.subarray(0, at));
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }
}

function checkRange(type: NumberType, value: number | bigint): void {
  const range = RANGES[type];
  if (!range) return;
  const isInteger = typeof value === 'bigint' || Number.isInteger(value);
  if (isInteger && value >= range[0] && value <= range[1]) return;
  const expected = `an integer from ${range[0]} to ${range[1]}`;
  fail('INVALID_ARGUMENT', { name: `metadata value of type ${type}`, found: `${value}`, expected });
}

/** What can be written as MessagePack; a bigint is an unsigned integer of 64 bits, a number with a fraction a float64. */
export type Packable = null | boolean | number | bigint | string | readonly Packable[] | PackableMap;

/** A map with text keys, in the order in which they were written. */
export interface PackableMap {
  readonly [key: string]: Packable;
}

const INITIAL_BYTES = 256;

/** Writes a value as MessagePack (the specification of msgpack.org), each in its shortest form but 64-bit integers. */
export function packed(value: Packable): Uint8Array {
  const writer = new Writer();
  writer.value(value);
  return writer.bytes();
}

/** `Array.isArray` does not tell a list of which nothing may be changed from a map. */
function isList(value: Packable): value is readonly Packable[] {
  return Array.isArray(value);
}

class Writer {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  value(value: Packable): void {
    if (value === null) this.#tag(0xc0);
    else if (typeof value === 'boolean') this.#tag(value ? 0xc3 : 0xc2);
    else if (typeof value === 'bigint') this.#tagged(0xcf, 8, (view, at) => view.setBigUint64(at, value));
    else if (typeof value === 'string') this.#text(value);
    else if (isList(value)) this.#list(value);
    else if (typeof value === 'object') this.#map(value);
    else if (Number.isSafeInteger(value)) this.#integer(value);
    else this.#tagged(0xcb, 8, (view, at) => view.setFloat64(at, value));
  }

  #integer(value: number): void {
    if (value < 0) {
      if (value >= -0x20) this.#tag(value & 0xff);
      else this.#tagged(0xd3, 8, (view, at) => view.setBigInt64(at, BigInt(value)));
    } else if (value < 0x80) this.#tag(value);
    else if (value < 0x100) this.#tagged(0xcc, 1, (view, at) => view.setUint8(at, value));
    else if (value < 0x10000) this.#tagged(0xcd, 2, (view, at) => view.setUint16(at, value));
    else if (value < 2 ** 32) this.#tagged(0xce, 4, (view, at) => view.setUint32(at, value));
    else this.#tagged(0xcf, 8, (view, at) => view.setBigUint64(at, BigInt(value)));
  }

  #text(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const { length } = bytes;
    if (length < 0x20) this.#tag(0xa0 | length);
    else if (length < 0x100) this.#tagged(0xd9, 1, (view, at) => view.setUint8(at, length));
    else if (length < 0x10000) this.#tagged(0xda, 2, (view, at) => view.setUint16(at, length));
    else this.#tagged(0xdb, 4, (view, at) => view.setUint32(at, length));
    const at = this.#take(length);
    this.#bytes.set(bytes, at);
  }

  #list(list: readonly Packable[]): void {
    if (list.length < 0x10) this.#tag(0x90 | list.length);
    else if (list.length < 0x10000) this.#tagged(0xdc, 2, (view, at) => view.setUint16(at, list.length));
    else this.#tagged(0xdd, 4, (view, at) => view.setUint32(at, list.length));
    for (const value of list) this.value(value);
  }

  #map(map: PackableMap): void {
    const entries = Object.entries(map);
    if (entries.length < 0x10) this.#tag(0x80 | entries.length);
    else this.#tagged(0xde, 2, (view, at) => view.setUint16(at, entries.length));
    for (const [key, value] of entries) {
      this.#text(key);
      this.value(value);
    }
  }

  /** Writes the first byte of a value. */
  #tag(tag: number): void {
    const at = this.#take(1);
    this.#bytes[at] = tag;
  }

  /** Writes the first byte of a value, and so many that follow it. */
  #tagged(tag: number, following: number, write: (view: DataView, at: number) => void): void {
    this.#tag(tag);
    const at = this.#take(following);
    write(this.#view, at);
  }

  #take(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}

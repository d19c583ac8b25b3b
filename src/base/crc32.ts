/** Tables for eight bytes at once: the CRC of each byte with 0 to 7 zero bytes behind it. */
const TABLES = tables();

function tables(): Uint32Array[] {
  const first = Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    return crc;
  });
  const all = [first];
  for (let zeros = 1; zeros < 8; zeros++) {
    const shorter = all[zeros - 1] as Uint32Array;
    all.push(shorter.map((crc) => (crc >>> 8) ^ (first[crc & 0xff] as number)));
  }
  return all;
}

/**
 * The CRC-32 of zlib, PNG and Ethernet, computed piece by piece (eight bytes at once: Kounavis and Berry 2005,
 * "slicing-by-8").
 */
export class Crc32 {
  #crc = 0xffffffff;

  /** The checksum of all bytes so far, an unsigned number. */
  get value(): number {
    return (this.#crc ^ 0xffffffff) >>> 0;
  }

  update(bytes: Uint8Array): void {
    const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [
      Uint32Array,
      Uint32Array,
      Uint32Array,
      Uint32Array,
      Uint32Array,
      Uint32Array,
      Uint32Array,
      Uint32Array,
    ];
    const at = (table: Uint32Array, index: number) => table[index & 0xff] as number;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let crc = this.#crc;
    let i = 0;
    for (; i + 8 <= bytes.length; i += 8) {
      const low = view.getUint32(i, true) ^ crc;
      const high = view.getUint32(i + 4, true);
      const older = at(t7, low) ^ at(t6, low >>> 8) ^ at(t5, low >>> 16) ^ at(t4, low >>> 24);
      crc = older ^ at(t3, high) ^ at(t2, high >>> 8) ^ at(t1, high >>> 16) ^ at(t0, high >>> 24);
    }
    for (; i < bytes.length; i++) crc = (crc >>> 8) ^ at(t0, crc ^ (bytes[i] as number));
    this.#crc = crc;
  }
}

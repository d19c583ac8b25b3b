/** FNV-1a's prime is 2^40 + this. */
const PRIME_LOW = 0x1b3;
/** The hash of nothing: FNV-1a's offset basis. */
const [BASIS_HIGH, BASIS_LOW] = [0xcbf29ce4, 0x84222325];

/**
 * The hash of a block of the prompt cache: FNV-1a of 64 bits (Fowler, Noll, Vo) over the parent's hash (8 bytes, big-endian;
 * none for a first block without lineage) and the token ids (4 bytes each, little-endian). It has no random part, so that a
 * router can compute the hashes of a prompt's blocks itself.
 */
export function blockHash(parent: bigint | undefined, ids: readonly number[]): bigint {
  const bytes = new Uint8Array((parent === undefined ? 0 : 8) + 4 * ids.length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  if (parent !== undefined) {
    view.setBigUint64(0, parent);
    at = 8;
  }
  for (const id of ids) {
    view.setUint32(at, id, true);
    at += 4;
  }
  return fnv1a(bytes);
}

/** The hash that stands for the parent of a first block whose sequence has a lineage: FNV-1a of its text in UTF-8. */
export function lineageHash(lineage: string): bigint {
  return fnv1a(new TextEncoder().encode(lineage));
}

/** In two halves, because numbers are exact to 53 bits only. */
function fnv1a(bytes: Uint8Array): bigint {
  let [high, low] = [BASIS_HIGH, BASIS_LOW];
  for (const byte of bytes) {
    low = (low ^ byte) >>> 0;
    const product = low * PRIME_LOW;
    high = (high * PRIME_LOW + Math.floor(product / 2 ** 32) + low * 0x100) % 2 ** 32;
    low = product >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}

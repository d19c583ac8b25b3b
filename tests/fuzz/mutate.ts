/** Numbers that break length and offset arithmetic. */
const NASTY = [
  0n,
  1n,
  0xffn,
  0x7fffn,
  0xffff_ffffn,
  2n ** 31n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
  1n << 40n,
];

type Mutation = (bytes: Uint8Array, random: () => number) => Uint8Array;

const MUTATIONS: readonly Mutation[] = [
  flipBit,
  setByte,
  setNumber,
  truncate,
  copyRange,
  removeRange,
  clearRange,
];

/** One to four random changes of a file, most of them in its first part, where the header is. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  let mutated: Uint8Array = bytes.slice();
  const changes = 1 + Math.floor(random() * 4);
  for (let change = 0; change < changes && mutated.length > 0; change++) {
    const mutation = MUTATIONS[Math.floor(random() * MUTATIONS.length)] ?? flipBit;
    mutated = mutation(mutated, random);
  }
  return mutated;
}

/** Magic and version: most changes spare them, or few would get any further. */
const PREAMBLE_BYTES = 8;

/** A position, early ones far likelier than late ones. */
function position(bytes: Uint8Array, random: () => number): number {
  const spared = random() < 0.95 ? PREAMBLE_BYTES : 0;
  const room = Math.max(1, bytes.length - spared);
  return Math.min(bytes.length - 1, spared + Math.floor(room * random() ** 3));
}

function flipBit(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = position(bytes, random);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  return bytes;
}

function setByte(bytes: Uint8Array, random: () => number): Uint8Array {
  bytes[position(bytes, random)] = random() * 256;
  return bytes;
}

function setNumber(bytes: Uint8Array, random: () => number): Uint8Array {
  const length = random() < 0.5 ? 4 : 8;
  if (bytes.length < length) return bytes;
  const at = Math.min(position(bytes, random), bytes.length - length);
  const value = NASTY[Math.floor(random() * NASTY.length)] ?? 0n;
  for (let i = 0; i < length; i++) bytes[at + i] = Number((value >> BigInt(8 * i)) & 0xffn);
  return bytes;
}

function truncate(bytes: Uint8Array, random: () => number): Uint8Array {
  return bytes.slice(0, position(bytes, random));
}

function copyRange(bytes: Uint8Array, random: () => number): Uint8Array {
  const from = position(bytes, random);
  bytes.copyWithin(position(bytes, random), from, from + Math.floor(random() * 64));
  return bytes;
}

function removeRange(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = position(bytes, random);
  const length = Math.min(bytes.length - at, Math.floor(random() * 16));
  const rest = bytes.subarray(at + length);
  const shorter = new Uint8Array(at + rest.length);
  shorter.set(bytes.subarray(0, at));
  shorter.set(rest, at);
  return shorter;
}

function clearRange(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = position(bytes, random);
  return bytes.fill(random() < 0.5 ? 0 : 0xff, at, at + Math.floor(random() * 24));
}

import type { PackedFormat } from './packed-format.ts';

/** Words a group that the planes of quants take, in the order in which they lie. */
export const QUANT_PLANES: Readonly<Record<PackedFormat['bits'], readonly [number, number?]>> = {
  2: [2],
  3: [2, 1],
  4: [4],
  5: [4, 1],
  6: [4, 2],
  8: [4, 4],
};

/** Four bits: word t of a group holds quad t in its low nibbles and quad t + 4 in its high ones. */
const LOAD_4 = /* wgsl */ `
fn load_low(group: u32) -> vec4<u32> { return weight[group]; }
fn low_quad(low: vec4<u32>, q: u32) -> u32 { return (low[q & 3u] >> (q & 4u)) & 0x0f0f0f0fu; }
fn low_quad_at(group: u32, q: u32) -> u32 { return (weight[group][q & 3u] >> (q & 4u)) & 0x0f0f0f0fu; }
`;

/** Two bits: word t / 2 holds quad t at bit 4 (t % 2) of each byte, and quad t + 4 two bits above it. */
const LOAD_2 = /* wgsl */ `
fn load_low(group: u32) -> vec4<u32> {
  let vector = weight[group >> 1u];
  return vec4<u32>(select(vector.xy, vector.zw, (group & 1u) == 1u), 0u, 0u);
}
fn low_quad(low: vec4<u32>, q: u32) -> u32 { return (low[(q & 3u) >> 1u] >> (4u * (q & 1u) + (q >> 2u) * 2u)) & 0x03030303u; }
fn low_quad_at(group: u32, q: u32) -> u32 {
  return (weight_word(2u * group + ((q & 3u) >> 1u)) >> (4u * (q & 1u) + (q >> 2u) * 2u)) & 0x03030303u;
}
`;

const NO_HIGH = /* wgsl */ `
fn load_high(group: u32) -> vec4<u32> { return vec4<u32>(); }
fn quad_of(quants: Quants, q: u32) -> u32 { return low_quad(quants.low, q); }
fn quad_at(group: u32, q: u32) -> u32 { return low_quad_at(group, q); }
`;

/** A word with bit q of byte i for the bit above the low ones of element i of quad q. */
const highBits = (shift: number) => /* wgsl */ `
fn load_high(group: u32) -> vec4<u32> { return vec4<u32>(weight_word(HIGH_AT + group), 0u, 0u, 0u); }
fn high_bits(word: u32, q: u32) -> u32 { return ((word >> q) & 0x01010101u) << ${shift}u; }
fn quad_of(quants: Quants, q: u32) -> u32 { return low_quad(quants.low, q) | high_bits(quants.high.x, q); }
fn quad_at(group: u32, q: u32) -> u32 { return low_quad_at(group, q) | high_bits(weight_word(HIGH_AT + group), q); }
`;

/** The upper two of six bits, laid out as the two bits above. */
const HIGH_PAIRS = /* wgsl */ `
fn load_high(group: u32) -> vec4<u32> {
  return vec4<u32>(weight_word(HIGH_AT + 2u * group), weight_word(HIGH_AT + 2u * group + 1u), 0u, 0u);
}
fn high_pairs(word: u32, q: u32) -> u32 { return ((word >> (4u * (q & 1u) + (q >> 2u) * 2u)) & 0x03030303u) << 4u; }
fn quad_of(quants: Quants, q: u32) -> u32 { return low_quad(quants.low, q) | high_pairs(quants.high[(q & 3u) >> 1u], q); }
fn quad_at(group: u32, q: u32) -> u32 {
  return low_quad_at(group, q) | high_pairs(weight_word(HIGH_AT + 2u * group + ((q & 3u) >> 1u)), q);
}
`;

/** The half of a group is read with all of it. */
const HALF_OF_GROUP = /* wgsl */ `
fn load_half(group: u32, half: u32) -> Quants { return load_quants(group); }
fn half_quad(quants: Quants, half: u32, t: u32) -> u32 { return quad_of(quants, 4u * half + t); }
`;

/** Eight bits: quads 0 to 3 in one plane, 4 to 7 in another. */
const LOAD_8 = /* wgsl */ `
fn load_low(group: u32) -> vec4<u32> { return weight[group]; }
fn load_high(group: u32) -> vec4<u32> { return weight[(HIGH_AT >> 2u) + group]; }
fn quad_of(quants: Quants, q: u32) -> u32 { return select(quants.low[q & 3u], quants.high[q & 3u], q > 3u); }
fn quad_at(group: u32, q: u32) -> u32 { return weight[group + select(0u, HIGH_AT >> 2u, q > 3u)][q & 3u]; }
fn load_half(group: u32, half: u32) -> Quants {
  return Quants(weight[group + select(0u, HIGH_AT >> 2u, half == 1u)], vec4<u32>());
}
fn half_quad(quants: Quants, half: u32, t: u32) -> u32 { return quants.low[t]; }
`;

const LOADS: Readonly<Record<PackedFormat['bits'], string>> = {
  2: LOAD_2 + NO_HIGH + HALF_OF_GROUP,
  3: LOAD_2 + highBits(2) + HALF_OF_GROUP,
  4: LOAD_4 + NO_HIGH + HALF_OF_GROUP,
  5: LOAD_4 + highBits(4) + HALF_OF_GROUP,
  6: LOAD_4 + HIGH_PAIRS + HALF_OF_GROUP,
  8: LOAD_8,
};

/**
 * `load_quants(group)` brings a group into registers, `quad_of(quants, q)` gives four of its quants as bytes; `quad_at(group, q)`
 * loads no more than those. `load_half` and `half_quad` do so for the first or the last 16 quants of a group.
 */
export function loadQuantsText(bits: PackedFormat['bits']): string {
  return /* wgsl */ `
struct Quants { low: vec4<u32>, high: vec4<u32> }
fn weight_word(i: u32) -> u32 { return weight[i >> 2u][i & 3u]; }
fn load_quants(group: u32) -> Quants { return Quants(load_low(group), load_high(group)); }
${LOADS[bits]}`;
}

const STORE_LOW_4 = /* wgsl */ `
  for (var t = 0u; t < 4u; t++) {
    weight[4u * group + t] = ((*quads)[t] & 0x0f0f0f0fu) | (((*quads)[t + 4u] & 0x0f0f0f0fu) << 4u);
  }`;

const storePairs = (at: string, shift: number) => /* wgsl */ `
  for (var t = 0u; t < 2u; t++) {
    var word = 0u;
    for (var k = 0u; k < 2u; k++) {
      word |= (((*quads)[2u * t + k] >> ${shift}u) & 0x03030303u) << (4u * k);
      word |= (((*quads)[2u * t + k + 4u] >> ${shift}u) & 0x03030303u) << (4u * k + 2u);
    }
    weight[${at} + 2u * group + t] = word;
  }`;

const storeBits = (shift: number) => /* wgsl */ `
  var bits = 0u;
  for (var q = 0u; q < 8u; q++) { bits |= (((*quads)[q] >> ${shift}u) & 0x01010101u) << q; }
  weight[HIGH_AT + group] = bits;`;

const STORE_8 = /* wgsl */ `
  for (var t = 0u; t < 4u; t++) {
    weight[4u * group + t] = (*quads)[t];
    weight[HIGH_AT + 4u * group + t] = (*quads)[t + 4u];
  }`;

const STORES: Readonly<Record<PackedFormat['bits'], string>> = {
  2: storePairs('0u', 0),
  3: storePairs('0u', 0) + storeBits(2),
  4: STORE_LOW_4,
  5: STORE_LOW_4 + storeBits(4),
  6: STORE_LOW_4 + storePairs('HIGH_AT', 4),
  8: STORE_8,
};

/** `store_quants(group, quads)` writes a group from bytes. */
export function storeQuantsText(bits: PackedFormat['bits']): string {
  return /* wgsl */ `fn store_quants(group: u32, quads: ptr<function, array<u32, 8>>) {${STORES[bits]}\n}`;
}

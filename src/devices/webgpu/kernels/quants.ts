import type { PackedQuants } from '../../../device/index.ts';

type Codes = Extract<PackedQuants, { kind: 'bits' }>['bits'];

/** One bit: bit q of byte i of a group's word is that of element i of quad q. */
const LOAD_1 = /* wgsl */ `
fn load_low(group: u32) -> vec4<u32> { return vec4<u32>(weight_word(group), 0u, 0u, 0u); }
fn low_quad(low: vec4<u32>, half: u32, t: u32) -> u32 { return (low.x >> (4u * half + t)) & 0x01010101u; }
fn low_quad_at(group: u32, q: u32) -> u32 { return (weight_word(group) >> q) & 0x01010101u; }
`;

/** Four bits: word t of a group holds quad t in its low nibbles and quad t + 4 in its high ones. */
const LOAD_4 = /* wgsl */ `
fn load_low(group: u32) -> vec4<u32> { return weight[group]; }
fn low_quad(low: vec4<u32>, half: u32, t: u32) -> u32 { return (low[t] >> (4u * half)) & 0x0f0f0f0fu; }
fn low_quad_at(group: u32, q: u32) -> u32 { return (weight[group][q & 3u] >> (q & 4u)) & 0x0f0f0f0fu; }
`;

/** Two bits: word t / 2 holds quad t at bit 4 (t % 2) of each byte, and quad t + 4 two bits above it. */
const LOAD_2 = /* wgsl */ `
fn load_low(group: u32) -> vec4<u32> {
  let vector = weight[group >> 1u];
  return vec4<u32>(select(vector.xy, vector.zw, (group & 1u) == 1u), 0u, 0u);
}
fn low_quad(low: vec4<u32>, half: u32, t: u32) -> u32 { return (low[t >> 1u] >> (4u * (t & 1u) + 2u * half)) & 0x03030303u; }
fn low_quad_at(group: u32, q: u32) -> u32 {
  return (weight_word(2u * group + ((q & 3u) >> 1u)) >> (4u * (q & 1u) + (q >> 2u) * 2u)) & 0x03030303u;
}
`;

const NO_HIGH = /* wgsl */ `
fn load_high(group: u32) -> vec4<u32> { return vec4<u32>(); }
fn half_quad(quants: Quants, half: u32, t: u32) -> u32 { return low_quad(quants.low, half, t); }
fn quad_at(group: u32, q: u32) -> u32 { return low_quad_at(group, q); }
`;

/** A word with bit q of byte i for the bit above the low ones of element i of quad q. */
const highBits = (shift: number) => /* wgsl */ `
fn load_high(group: u32) -> vec4<u32> { return vec4<u32>(weight_word(HIGH_AT + group), 0u, 0u, 0u); }
fn high_bits(word: u32, q: u32) -> u32 { return ((word >> q) & 0x01010101u) << ${shift}u; }
fn half_quad(quants: Quants, half: u32, t: u32) -> u32 { return low_quad(quants.low, half, t) | high_bits(quants.high.x, 4u * half + t); }
fn quad_at(group: u32, q: u32) -> u32 { return low_quad_at(group, q) | high_bits(weight_word(HIGH_AT + group), q); }
`;

/** The upper two of six bits, laid out as the two bits above. */
const HIGH_PAIRS = /* wgsl */ `
fn load_high(group: u32) -> vec4<u32> {
  return vec4<u32>(weight_word(HIGH_AT + 2u * group), weight_word(HIGH_AT + 2u * group + 1u), 0u, 0u);
}
fn high_pairs(word: u32, half: u32, t: u32) -> u32 { return ((word >> (4u * (t & 1u) + 2u * half)) & 0x03030303u) << 4u; }
fn half_quad(quants: Quants, half: u32, t: u32) -> u32 { return low_quad(quants.low, half, t) | high_pairs(quants.high[t >> 1u], half, t); }
fn quad_at(group: u32, q: u32) -> u32 {
  return low_quad_at(group, q) | high_pairs(weight_word(HIGH_AT + 2u * group + ((q & 3u) >> 1u)), q >> 2u, q & 3u);
}
`;

/** The half of a group is read with all of it. */
const HALF_OF_GROUP = /* wgsl */ `
fn load_half(group: u32, half: u32) -> Quants { return load_quants(group); }
fn quad_of(quants: Quants, q: u32) -> u32 { return half_quad(quants, q >> 2u, q & 3u); }
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

const LOADS: Readonly<Record<Codes, string>> = {
  1: LOAD_1 + NO_HIGH + HALF_OF_GROUP,
  2: LOAD_2 + NO_HIGH + HALF_OF_GROUP,
  3: LOAD_2 + highBits(2) + HALF_OF_GROUP,
  4: LOAD_4 + NO_HIGH + HALF_OF_GROUP,
  5: LOAD_4 + highBits(4) + HALF_OF_GROUP,
  6: LOAD_4 + HIGH_PAIRS + HALF_OF_GROUP,
  8: LOAD_8,
};

/**
 * Entries of a codebook: words of `TABLE_AT`, four levels each. A group has its runs' entries (`WORDS` words each), bits of them
 * beyond eight (`HIGH` each) in `HIGH_BITS`, and a sign bit an element, or behind the upper bits one a run that says whether its levels
 * are one more (clear) or one less (set).
 */
const LOAD_RUNS = /* wgsl */ `
fn load_low(group: u32) -> vec4<u32> {
  let words = RUNS / 4u;
  return vec4<u32>(weight_word(words * group), select(0u, weight_word(words * group + words - 1u), words > 1u), 0u, 0u);
}
fn load_high(group: u32) -> vec4<u32> {
  var high = 0u;
  if (HIGH_BITS > 0u) {
    let at = group * HIGH_BITS;
    high = (weight_word(HIGH_AT + (at >> 5u)) >> (at & 31u)) & ((1u << HIGH_BITS) - 1u);
  }
  var signs = 0u;
  if (SIGNS) { signs = weight_word(SIGNS_AT + group); }
  return vec4<u32>(high, signs, 0u, 0u);
}
fn quad_of(quants: Quants, q: u32) -> u32 {
  let run = q / WORDS;
  var entry = (select(quants.low.x, quants.low.y, run > 3u) >> (8u * (run & 3u))) & 255u;
  if (HIGH > 0u) { entry |= ((quants.high.x >> (HIGH * run)) & ((1u << HIGH) - 1u)) << 8u; }
  let word = weight_word(TABLE_AT + entry * WORDS + q % WORDS);
  if (!SIGNS) { return word + select(0x02020202u, 0u, ((quants.high.x >> (HIGH * RUNS + run)) & 1u) == 1u); }
  // No level is zero, so that no carry leaves its byte.
  let minus = (((quants.high.y >> (4u * q)) & 15u) * 0x00204081u) & 0x01010101u;
  return (word ^ (minus * 255u)) + minus;
}
fn quad_at(group: u32, q: u32) -> u32 { return quad_of(load_quants(group), q); }
fn load_half(group: u32, half: u32) -> Quants { return load_quants(group); }
fn half_quad(quants: Quants, half: u32, t: u32) -> u32 { return quad_of(quants, 4u * half + t); }
`;

/**
 * `load_quants(group)` brings a group into registers, `quad_of(quants, q)` gives four of its quants as bytes; `quad_at(group, q)`
 * loads no more than those. `load_half` and `half_quad` do so for the first or the last 16 quants of a group.
 */
export function loadQuantsText(quants: PackedQuants): string {
  return /* wgsl */ `
struct Quants { low: vec4<u32>, high: vec4<u32> }
fn weight_word(i: u32) -> u32 { return weight[i >> 2u][i & 3u]; }
fn load_quants(group: u32) -> Quants { return Quants(load_low(group), load_high(group)); }
${quants.kind === 'bits' ? LOADS[quants.bits] : LOAD_RUNS}`;
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
  weight[job.high_at + group] = bits;`;

const STORE_8 = /* wgsl */ `
  for (var t = 0u; t < 4u; t++) {
    weight[4u * group + t] = (*quads)[t];
    weight[job.high_at + 4u * group + t] = (*quads)[t + 4u];
  }`;

const STORE_1 = /* wgsl */ `
  var bits = 0u;
  for (var q = 0u; q < 8u; q++) { bits |= ((*quads)[q] & 0x01010101u) << q; }
  weight[group] = bits;`;

const STORES: Readonly<Record<Codes, string>> = {
  1: STORE_1,
  2: storePairs('0u', 0),
  3: storePairs('0u', 0) + storeBits(2),
  4: STORE_LOW_4,
  5: STORE_LOW_4 + storeBits(4),
  6: STORE_LOW_4 + storePairs('job.high_at', 4),
  8: STORE_8,
};

const STORE_CODES = /* wgsl */ `
fn pack_quants(first: u32, block: u32, count: u32) {
  for (var i = 0u; i < count; i++) {
    let own = block + i / BLOCK_GROUPS * BLOCK_BYTES;
    let e = 32u * (i % BLOCK_GROUPS);
    var quads = array<u32, 8>();
    for (var q = 0u; q < 8u; q++) {
      var quad = 0u;
      for (var k = 0u; k < 4u; k++) { quad |= (quant(own, e + 4u * q + k) & 255u) << (8u * k); }
      quads[q] = quad;
    }
    store_quants(first + i, &quads);
  }
}
`;

/** Upper bits of several groups share words, which a unit of eight groups fills. */
const STORE_RUNS = /* wgsl */ `
fn pack_quants(first: u32, block: u32, count: u32) {
  var high = 0u;
  for (var i = 0u; i < count; i++) {
    var low = array<u32, 2>(0u, 0u);
    var own_high = 0u;
    for (var run = 0u; run < RUNS; run++) {
      let e = 32u * i + 4u * WORDS * run;
      let number = entry(block, e);
      low[run >> 2u] |= (number & 255u) << (8u * (run & 3u));
      own_high |= (number >> 8u) << (HIGH * run);
      if (!SIGNS) { own_high |= change(block, e) << (HIGH * RUNS + run); }
    }
    weight[RUNS / 4u * (first + i)] = low[0];
    if (RUNS == 8u) { weight[2u * (first + i) + 1u] = low[1]; }
    if (HIGH_BITS > 0u) {
      high |= own_high << ((i * HIGH_BITS) & 31u);
      if ((((i + 1u) * HIGH_BITS) & 31u) == 0u) {
        weight[job.high_at + (((first + i) * HIGH_BITS) >> 5u)] = high;
        high = 0u;
      }
    }
    if (SIGNS) {
      var signs = 0u;
      for (var k = 0u; k < 4u; k++) { signs |= change(block, 32u * i + 8u * k) << (8u * k); }
      weight[job.signs_at + first + i] = signs;
    }
  }
}
`;

/** `pack_quants(first, block, count)` writes the groups of a unit from the blocks' bytes. */
export function packQuantsText(quants: PackedQuants): string {
  if (quants.kind === 'grid') return STORE_RUNS;
  return `fn store_quants(group: u32, quads: ptr<function, array<u32, 8>>) {${STORES[quants.bits]}\n}\n${STORE_CODES}`;
}

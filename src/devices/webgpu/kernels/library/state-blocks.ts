import type { CellType } from './cache-types.ts';

/** The four quants of a word. */
export const QUANTS_OF = /* wgsl */ `
fn quants_of(word: u32) -> vec4<f32> {
  return vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(word << 24u, word << 16u, word << 8u, word)) >> vec4<u32>(24u));
}
`;

/**
 * Quantizes blocks of 32 values, which 32 neighbouring threads have put into `block_values`, as ggml's
 * `quantize_row_q8_0_ref`, bit for bit; magnitudes are compared as integers, in which NaN is the largest. Eight threads
 * have a word of quants each, the first of them the scale. Requires `THREADS`, `HALVES` and `PRECISE`.
 */
export const QUANTIZE_BLOCKS = /* wgsl */ `
const INFINITE_HALF = 0x7c00u;
const NAN_HALF = 0x7e00u;

// The scale's bits, and what the block's values are multiplied with: zero where the scale is zero or no number.
struct BlockScale { bits: u32, inverse: f32 }
fn block_scale(first: u32) -> BlockScale {
  var top = 0u;
  for (var i = 0u; i < 32u; i++) { top = max(top, bitcast<u32>(block_values[first + i]) & 0x7fffffffu); }
  if (top >= 0x7f800000u) { return BlockScale(NAN_HALF, 0.0); }
  let d = exact_quotient(bitcast<f32>(top), 127.0);
  let bits = float_to_half(d);
  if (bits >= INFINITE_HALF) { return BlockScale(NAN_HALF, 0.0); }
  return BlockScale(bits, select(0.0, exact_quotient(1.0, d), bits > 0u));
}

// Rounds halves away from zero.
fn nearest_level(value: f32, inverse: f32) -> i32 {
  let scaled = opaque_value(value * inverse);
  let whole = trunc(scaled);
  let rest = opaque_value(scaled - whole);
  return i32(whole) + i32(rest + rest);
}

// Four quants from one value on.
fn quant_word(at: u32, inverse: f32) -> u32 {
  if (inverse == 0.0) { return 0u; }
  var word = 0u;
  for (var i = 0u; i < 4u; i++) {
    word |= (bitcast<u32>(nearest_level(block_values[at + i], inverse)) & 255u) << (8u * i);
  }
  return word;
}
`;

/** What the threads hold; requires `THREADS`. */
export const BLOCK_VALUES = /* wgsl */ `
var<workgroup> block_values: array<f32, THREADS>;
`;

type Cache = 'keys' | 'values';

/** Stores a half of a word; the word's other half is another block's. */
const storeHalf = (cache: Cache, bits: string) => `
  let at = ${cache.toUpperCase()}_SCALES_AT + block / 2u;
  let shift = 16u * (block % 2u);
  atomicAnd(&${cache}[at], ~(0xffffu << shift));
  atomicOr(&${cache}[at], ${bits} << shift);`;

/** How a thread stores its part of a block, of which the values from `first` on are. */
const STORE: Readonly<Record<CellType, (cache: Cache) => string>> = {
  f32: (cache) => `
  atomicStore(&${cache}[32u * block + lane], bitcast<u32>(block_values[thread]));`,
  f16: (cache) => `
  if (lane % 2u == 1u) { return; }
  let pair = float_to_half(block_values[thread]) | (float_to_half(block_values[thread + 1u]) << 16u);
  atomicStore(&${cache}[16u * block + lane / 2u], pair);`,
  q8_0: (cache) => `
  if (lane >= 8u) { return; }
  let scale = block_scale(first);
  atomicStore(&${cache}[8u * block + lane], quant_word(first + 4u * lane, scale.inverse));
  if (lane > 0u) { return; }${storeHalf(cache, 'scale.bits')}`,
  q4_0: (cache) => `
  if (lane >= 4u) { return; }
  // The first value of the largest magnitude says the sign.
  var extreme = 0u;
  for (var i = 0u; i < 32u; i++) {
    let own = bitcast<u32>(block_values[first + i]);
    if ((own & 0x7fffffffu) > (extreme & 0x7fffffffu)) { extreme = own; }
  }
  var bits = NAN_HALF;
  if ((extreme & 0x7fffffffu) < 0x7f800000u) { bits = float_to_half(bitcast<f32>(extreme) * -0.125); }
  let size = bits & 0x7fffu;
  var word = 0x88888888u;
  if (size > 0u && size < INFINITE_HALF) {
    let inverse = exact_quotient(1.0, bitcast<f32>(extreme) * -0.125);
    word = 0u;
    for (var i = 0u; i < 8u; i++) {
      let level = min(15, nearest_level(block_values[first + 8u * lane + i], inverse) + 8);
      word |= (u32(level) & 15u) << (4u * i);
    }
  }
  atomicStore(&${cache}[4u * block + lane], word);
  if (lane > 0u) { return; }
  if (size >= INFINITE_HALF) { bits = NAN_HALF; }
  if (size == 0u) { bits = 0u; }${storeHalf(cache, 'bits')}`,
  q5_1: (cache) => `
  if (lane >= 4u) { return; }
  var top = 0u;
  var least = block_values[first];
  var most = least;
  for (var i = 0u; i < 32u; i++) {
    let own = block_values[first + i];
    top = max(top, bitcast<u32>(own) & 0x7fffffffu);
    least = min(least, own);
    most = max(most, own);
  }
  // A zero has no sign.
  if (least == 0.0) { least = 0.0; }
  var scale = NAN_HALF | (NAN_HALF << 16u);
  var inverse = 0.0;
  if (top < 0x7f800000u) {
    let range = opaque_value(most - least);
    if (range < 3e38) {
      let d = exact_quotient(range, 31.0);
      let bits = float_to_half(d);
      let offset = float_to_half(least);
      if (bits < INFINITE_HALF && (offset & 0x7fffu) < INFINITE_HALF) {
        scale = bits | (offset << 16u);
        if (bits > 0u) { inverse = exact_quotient(1.0, d); }
      }
    }
  }
  var word = 0u;
  var fifths = 0u;
  if (inverse > 0.0) {
    for (var i = 0u; i < 32u; i++) {
      let level = u32(min(31, nearest_level(opaque_value(block_values[first + i] - least), inverse)));
      if (i / 8u == lane) { word |= (level & 15u) << (4u * (i % 8u)); }
      fifths |= (level >> 4u) << i;
    }
  }
  atomicStore(&${cache}[4u * block + lane], word);
  if (lane > 0u) { return; }
  atomicStore(&${cache}[${cache.toUpperCase()}_SCALES_AT + 2u * block], scale);
  atomicStore(&${cache}[${cache.toUpperCase()}_SCALES_AT + 2u * block + 1u], fifths);`,
};

/** `store_keys(block, thread)` or `store_values`: what 32 threads hold becomes block `block` of a cache of atomic words. */
export function storeBlocksText(cache: Cache, type: CellType): string {
  return /* wgsl */ `
fn store_${cache}(block: u32, thread: u32) {
  let lane = thread % 32u;
  let first = thread - lane;${STORE[type](cache)}
}
`;
}

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
var<workgroup> block_values: array<f32, THREADS>;
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

// Four quants from one value on, halves rounded away from zero.
fn quant_word(at: u32, inverse: f32) -> u32 {
  if (inverse == 0.0) { return 0u; }
  var word = 0u;
  for (var i = 0u; i < 4u; i++) {
    let scaled = opaque_value(block_values[at + i] * inverse);
    let whole = trunc(scaled);
    let rest = opaque_value(scaled - whole);
    word |= (bitcast<u32>(i32(whole) + i32(rest + rest)) & 255u) << (8u * i);
  }
  return word;
}
`;

/** `store_keys(block, thread)` or `store_values`: what 32 threads hold becomes block `block` of a cache of atomic words. */
export function storeBlocksText(cache: 'keys' | 'values'): string {
  const scalesAt = `${cache.toUpperCase()}_SCALES_AT`;
  return /* wgsl */ `
fn store_${cache}(block: u32, thread: u32) {
  let lane = thread % 32u;
  if (lane >= 8u) { return; }
  let first = thread - lane;
  let scale = block_scale(first);
  atomicStore(&${cache}[8u * block + lane], quant_word(first + 4u * lane, scale.inverse));
  if (lane > 0u) { return; }
  // The word's other half is another block's.
  let at = ${scalesAt} + block / 2u;
  let shift = 16u * (block % 2u);
  atomicAnd(&${cache}[at], ~(0xffffu << shift));
  atomicOr(&${cache}[at], scale.bits << shift);
}
`;
}

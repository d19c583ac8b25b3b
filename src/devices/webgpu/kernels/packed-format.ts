/**
 * A quantized format as kernels multiply it: groups of 32 levels with their scales. `levels` is WGSL: `levels(quad)` turns
 * four stored quants into signed bytes (before `offset` is taken off). `pack` is, too: `quant(block, group, i)` reads element
 * `i` of a group out of a block's bytes in the file, `store_scales(group, block, groups)` writes the scales of a unit of
 * groups that begins with `group`.
 */
export interface PackedFormat {
  readonly bits: 2 | 3 | 4 | 5 | 6 | 8;
  readonly scales: ScaleKind;
  readonly offset: number;
  readonly blockGroups: 1 | 8;
  readonly blockBytes: number;
  readonly levels: string;
  readonly pack: string;
}

/**
 * How groups are scaled: a half `d` a group; halves `d` and `m`; two bytes a group (scale and min, or a nibble of both for each
 * half) under two halves for eight groups; two signed bytes a group, one for each half, under a number for eight groups.
 */
export type ScaleKind = 'half' | 'half-pair' | 'byte-pair' | 'nibble-pairs' | 'signed-bytes';

/** Quants that are levels already. */
export const LEVELS_AS_STORED = `fn levels(quad: u32) -> u32 { return quad; }`;

/** `store_scales` of the formats with a half in front of each block of 32. */
export const STORE_HALF = /* wgsl */ `
fn store_scales(group: u32, block: u32, groups: u32) {
  var word = half_at(block);
  if (groups > 1u) { word |= half_at(block + BLOCK_BYTES) << 16u; }
  weight[SCALES_AT + (group >> 1u)] = word;
}
`;

/** `store_scales` of the formats with two halves in front of each block of 32. */
export const STORE_HALF_PAIR = /* wgsl */ `
fn store_scales(group: u32, block: u32, groups: u32) {
  for (var i = 0u; i < groups; i++) { weight[SCALES_AT + group + i] = word_at(block + i * BLOCK_BYTES); }
}
`;

/** `store_scales` of the formats of 256 elements: `super_word(block)` for all groups, `pair_of(block, group)` for each. */
export const STORE_PAIRS = /* wgsl */ `
fn store_scales(group: u32, block: u32, groups: u32) {
  weight[SUPER_AT + (group >> 3u)] = super_word(block);
  for (var i = 0u; i < 4u; i++) {
    weight[SCALES_AT + (group >> 1u) + i] = pair_of(block, 2u * i) | (pair_of(block, 2u * i + 1u) << 16u);
  }
}
`;

/** The 6-bit scales and mins of 8 groups in the 12 bytes that Q4_K and Q5_K share. */
export const K_SCALES = /* wgsl */ `
fn scale_k(at: u32, group: u32) -> u32 {
  if (group < 4u) { return byte_at(at + group) & 63u; }
  return (byte_at(at + group + 4u) & 15u) | ((byte_at(at + group - 4u) >> 6u) << 4u);
}
fn min_k(at: u32, group: u32) -> u32 {
  if (group < 4u) { return byte_at(at + group + 4u) & 63u; }
  return (byte_at(at + group + 4u) >> 4u) | ((byte_at(at + group) >> 6u) << 4u);
}
fn super_word(block: u32) -> u32 { return word_at(block); }
fn pair_of(block: u32, group: u32) -> u32 { return scale_k(block + 4u, group) | (min_k(block + 4u, group) << 8u); }
`;

/** The levels of IQ4_NL and IQ4_XS, four quants at a time. */
export const IQ4_LEVELS = /* wgsl */ `
fn iq4_level(nibble: u32) -> u32 {
  let low = select(0xbfad9881u, 0xf6eaddcfu, (nibble & 4u) != 0u);
  let high = select(0x26190d01u, 0x71594535u, (nibble & 4u) != 0u);
  return (select(low, high, (nibble & 8u) != 0u) >> (8u * (nibble & 3u))) & 255u;
}
fn levels(quad: u32) -> u32 {
  return iq4_level(quad & 15u) | (iq4_level((quad >> 8u) & 15u) << 8u) |
    (iq4_level((quad >> 16u) & 15u) << 16u) | (iq4_level((quad >> 24u) & 15u) << 24u);
}
`;

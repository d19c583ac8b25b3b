import { LEVELS_AS_STORED, type PackedFormat, STORE_PAIRS } from '../packed-format.ts';

export const Q2_K: PackedFormat = {
  bits: 2,
  scales: 'nibble-pairs',
  offset: 0,
  blockGroups: 8,
  blockBytes: 84,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 {
  return (byte_at(block + 16u + 32u * (group >> 2u) + i) >> (2u * (group & 3u))) & 3u;
}
fn super_word(block: u32) -> u32 { return word_at(block + 80u); }
fn pair_of(block: u32, group: u32) -> u32 { return half_at(block + 2u * group); }
${STORE_PAIRS}`,
};

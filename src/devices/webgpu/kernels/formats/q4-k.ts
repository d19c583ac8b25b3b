import { K_SCALES, LEVELS_AS_STORED, type PackedFormat, STORE_PAIRS } from '../packed-format.ts';

export const Q4_K: PackedFormat = {
  bits: 4,
  scales: 'byte-pair',
  offset: 0,
  blockGroups: 8,
  blockBytes: 144,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 {
  return (byte_at(block + 16u + 32u * (group >> 1u) + i) >> (4u * (group & 1u))) & 15u;
}
${K_SCALES}${STORE_PAIRS}`,
};

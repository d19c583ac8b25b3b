import { K_SCALES, LEVELS_AS_STORED, type PackedFormat, STORE_PAIRS } from '../packed-format.ts';

export const Q5_K: PackedFormat = {
  bits: 5,
  scales: 'byte-pair',
  offset: 0,
  blockGroups: 8,
  blockBytes: 176,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 {
  let low = (byte_at(block + 48u + 32u * (group >> 1u) + i) >> (4u * (group & 1u))) & 15u;
  return low | (((byte_at(block + 16u + i) >> group) & 1u) << 4u);
}
${K_SCALES}${STORE_PAIRS}`,
};

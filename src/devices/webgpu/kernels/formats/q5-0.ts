import { LEVELS_AS_STORED, type PackedFormat, STORE_HALF } from '../packed-format.ts';

export const Q5_0: PackedFormat = {
  bits: 5,
  scales: 'half',
  offset: 16,
  blockGroups: 1,
  blockBytes: 22,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 {
  let low = (byte_at(block + 6u + (i & 15u)) >> ((i >> 4u) << 2u)) & 15u;
  return low | (((byte_at(block + 2u + (i >> 3u)) >> (i & 7u)) & 1u) << 4u);
}
${STORE_HALF}`,
};

import { LEVELS_AS_STORED, type PackedFormat, STORE_HALF } from '../packed-format.ts';

export const Q4_0: PackedFormat = {
  bits: 4,
  scales: 'half',
  offset: 8,
  blockGroups: 1,
  blockBytes: 18,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 { return (byte_at(block + 2u + (i & 15u)) >> ((i >> 4u) << 2u)) & 15u; }
${STORE_HALF}`,
};

import { IQ4_LEVELS, type PackedFormat, STORE_HALF } from '../packed-format.ts';

export const IQ4_NL: PackedFormat = {
  bits: 4,
  scales: 'half',
  offset: 0,
  blockGroups: 1,
  blockBytes: 18,
  levels: IQ4_LEVELS,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 { return (byte_at(block + 2u + (i & 15u)) >> ((i >> 4u) << 2u)) & 15u; }
${STORE_HALF}`,
};

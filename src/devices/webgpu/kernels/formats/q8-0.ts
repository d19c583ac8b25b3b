import { LEVELS_AS_STORED, type PackedFormat, STORE_HALF } from '../packed-format.ts';

export const Q8_0: PackedFormat = {
  bits: 8,
  scales: 'half',
  offset: 0,
  blockGroups: 1,
  blockBytes: 34,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 { return byte_at(block + 2u + i); }
${STORE_HALF}`,
};

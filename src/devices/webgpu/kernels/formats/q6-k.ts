import { LEVELS_AS_STORED, type PackedFormat, STORE_PAIRS } from '../packed-format.ts';

export const Q6_K: PackedFormat = {
  bits: 6,
  scales: 'signed-bytes',
  offset: 32,
  blockGroups: 8,
  blockBytes: 210,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 {
  let half = group >> 2u;
  let run = group & 3u;
  let low = (byte_at(block + 64u * half + 32u * (run & 1u) + i) >> (4u * (run >> 1u))) & 15u;
  return low | (((byte_at(block + 128u + 32u * half + i) >> (2u * run)) & 3u) << 4u);
}
fn super_word(block: u32) -> u32 { return bitcast<u32>(half_to_float(half_at(block + 208u))); }
fn pair_of(block: u32, group: u32) -> u32 { return half_at(block + 192u + 2u * group); }
${STORE_PAIRS}`,
};

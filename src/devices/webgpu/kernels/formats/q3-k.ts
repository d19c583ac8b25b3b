import { LEVELS_AS_STORED, type PackedFormat, STORE_PAIRS } from '../packed-format.ts';

export const Q3_K: PackedFormat = {
  bits: 3,
  scales: 'signed-bytes',
  offset: 4,
  blockGroups: 8,
  blockBytes: 110,
  levels: LEVELS_AS_STORED,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 {
  let low = (byte_at(block + 32u + 32u * (group >> 2u) + i) >> (2u * (group & 3u))) & 3u;
  return low | (((byte_at(block + i) >> group) & 1u) << 2u);
}
// Scale run of 16: four bits from one of the first eight bytes, two from one of the last four.
fn scale_q3(at: u32, run: u32) -> u32 {
  let low = (byte_at(at + (run & 7u)) >> (4u * (run >> 3u))) & 15u;
  return ((low | (((byte_at(at + 8u + (run & 3u)) >> (2u * (run >> 2u))) & 3u) << 4u)) - 32u) & 255u;
}
fn super_word(block: u32) -> u32 { return bitcast<u32>(half_to_float(half_at(block + 108u))); }
fn pair_of(block: u32, group: u32) -> u32 {
  return scale_q3(block + 96u, 2u * group) | (scale_q3(block + 96u, 2u * group + 1u) << 8u);
}
${STORE_PAIRS}`,
};

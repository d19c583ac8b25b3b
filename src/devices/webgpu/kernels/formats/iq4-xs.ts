import { IQ4_LEVELS, type PackedFormat, STORE_PAIRS } from '../packed-format.ts';

export const IQ4_XS: PackedFormat = {
  bits: 4,
  scales: 'signed-bytes',
  offset: 0,
  blockGroups: 8,
  blockBytes: 136,
  levels: IQ4_LEVELS,
  pack: /* wgsl */ `
fn quant(block: u32, group: u32, i: u32) -> u32 {
  return (byte_at(block + 8u + 16u * group + (i & 15u)) >> ((i >> 4u) << 2u)) & 15u;
}
fn super_word(block: u32) -> u32 { return bitcast<u32>(half_to_float(half_at(block))); }
fn pair_of(block: u32, group: u32) -> u32 {
  let low = (byte_at(block + 4u + (group >> 1u)) >> (4u * (group & 1u))) & 15u;
  let scale = ((low | (((half_at(block + 2u) >> (2u * group)) & 3u) << 4u)) - 32u) & 255u;
  return scale | (scale << 8u);
}
${STORE_PAIRS}`,
};

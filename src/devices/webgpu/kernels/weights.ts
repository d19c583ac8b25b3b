import { HALVES } from './library/halves.ts';

/** `weight4(row, quad)` of a quantized matrix: four neighbouring weights, decoded. */
export const PACKED_WEIGHT4 = /* wgsl */ `
fn weight4(row: u32, quad: u32) -> vec4<f32> {
  let group = row * GROUPS + (quad >> 3u);
  let q = quad & 7u;
  let scales = scales_at(group);
  let values = vec4<f32>(signed_bytes(levels(quad_at(group, q))) - vec4<i32>(i32(OFFSET)));
  let half = q >> 2u;
  return select(scales.scale[half] * values, scales.scale[half] * values + scales.min[half], MINS);
}
`;

const F32 = /* wgsl */ `
fn weight4(row: u32, quad: u32) -> vec4<f32> { return bitcast<vec4<f32>>(weight[row * STRIDE + quad]); }
`;

const F16 = /* wgsl */ `
fn weight4(row: u32, quad: u32) -> vec4<f32> {
  let at = row * STRIDE + quad;
  let vector = weight[at >> 1u];
  let words = select(vector.xy, vector.zw, (at & 1u) == 1u);
  return vec4<f32>(unpack_half2(words.x), unpack_half2(words.y));
}
`;

const BF16 = /* wgsl */ `
fn weight4(row: u32, quad: u32) -> vec4<f32> {
  let at = row * STRIDE + quad;
  let vector = weight[at >> 1u];
  let words = select(vector.xy, vector.zw, (at & 1u) == 1u);
  return bitcast<vec4<f32>>(vec4<u32>(words.x << 16u, words.x & 0xffff0000u, words.y << 16u, words.y & 0xffff0000u));
}
`;

/** How a dense matrix's elements are stored. */
export type DenseType = 'f32' | 'f16' | 'bf16';

/** `weight4(row, quad)` of a dense matrix; `STRIDE` quads a row. */
export const DENSE_WEIGHT4: Readonly<Record<DenseType, readonly string[]>> = {
  f32: [F32],
  f16: [HALVES, F16],
  bf16: [BF16],
};

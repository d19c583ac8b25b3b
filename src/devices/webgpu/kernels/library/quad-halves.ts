/**
 * Activations as f16, four in two words: the first and third, the second and fourth, as quantized weights come out of their
 * bytes. Numbers beyond f16's range are clamped to the largest.
 */
export const QUAD_TO_HALF = /* wgsl */ `
fn clamp_half(value: f32) -> f32 { return clamp(value, -65504.0, 65504.0); }
fn quad_to_half(values: vec4<f32>) -> vec2<u32> {
  let within = clamp(values, vec4<f32>(-65504.0), vec4<f32>(65504.0));
  return vec2<u32>(pack2x16float(within.xz), pack2x16float(within.yw));
}
`;

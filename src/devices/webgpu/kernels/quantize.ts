/** A workgroup quantizes a row, a thread whole groups; `scale_of(row, thread)` and `factor_of(i)` normalize it first or do not. */
export const QUANTIZE_ROWS = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let scale = scale_of(row, thread);
  for (var g = thread; g < GROUPS; g += THREADS) {
    let quantized = quantized_input(row, g, scale);
    let at = row * GROUPS + g;
    for (var i = 0u; i < 4u; i++) {
      y[8u * at + i] = quantized.low[i];
      y[8u * at + 4u + i] = quantized.high[i];
    }
    y[Y_SCALES_AT + 2u * at] = quantized.scale.x;
    y[Y_SCALES_AT + 2u * at + 1u] = quantized.scale.y;
  }
}
`;

/** A group of a row of `x`, normalized by what the two functions say. */
export const QUANTIZED_INPUT = /* wgsl */ `
fn quantized_input(row: u32, g: u32, scale: f32) -> Quantized {
  var values: array<vec4<f32>, 8>;
  for (var i = 0u; i < 8u; i++) { values[i] = x[(row * GROUPS + g) * 8u + i] * (scale * factor_of(8u * g + i)); }
  return quantize_group(&values);
}
`;

/** Activations as they are. */
export const PLAIN_INPUT = /* wgsl */ `
fn scale_of(row: u32, thread: u32) -> f32 { return 1.0; }
fn factor_of(i: u32) -> vec4<f32> { return vec4<f32>(1.0); }
`;

/** Activations divided by the root of their mean square, times the norm's weight. */
export const NORMED_INPUT = /* wgsl */ `
fn scale_of(row: u32, thread: u32) -> f32 {
  var square = 0.0;
  for (var i = thread; i < 8u * GROUPS; i += THREADS) {
    let values = x[row * GROUPS * 8u + i];
    square += dot(values, values);
  }
  return 1.0 / sqrt(all_sum(square, thread) / f32(32u * GROUPS) + EPSILON);
}
fn factor_of(i: u32) -> vec4<f32> { return norm_weight[i]; }
`;

/** A workgroup converts a row to f16, normalized as the two functions say. */
export const CONVERT_F16_ROWS = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let scale = scale_of(row, thread);
  for (var i = thread; i < 8u * GROUPS; i += THREADS) {
    y[row * 8u * GROUPS + i] = quad_to_half(x[row * 8u * GROUPS + i] * (scale * factor_of(i)));
  }
}
`;

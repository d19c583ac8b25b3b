/** The integer product of a group of 32 levels, two vectors of signed bytes, with as many quantized activations. */
export const GROUP_PRODUCT = /* wgsl */ `
fn dot_vector(a: vec4<u32>, b: vec4<u32>) -> i32 { return dot4(a.x, b.x, dot4(a.y, b.y, dot4(a.z, b.z, dot4(a.w, b.w, 0)))); }

fn group_product(first: vec4<u32>, second: vec4<u32>, scales: Scales, x: Quantized) -> f32 {
  var sums = vec2<i32>(bitcast<i32>(x.scale.y << 16u) >> 16u, bitcast<i32>(x.scale.y) >> 16u);
  var products = vec2<i32>(dot_vector(first, x.low), dot_vector(second, x.high)) - i32(OFFSET) * sums;
  var product: f32;
  if (PER_HALF) {
    product = dot(scales.scale, vec2<f32>(products));
    if (MINS) { product += dot(scales.min, vec2<f32>(sums)); }
  } else {
    product = scales.scale.x * f32(products.x + products.y);
    if (MINS) { product += scales.min.x * f32(sums.x + sums.y); }
  }
  return product * bitcast<f32>(x.scale.x);
}
`;

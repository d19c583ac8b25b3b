/**
 * f32 arithmetic whose roundings are prescribed. Compilers may contract products and sums, which WGSL allows, and divide
 * roughly; `opaque_value` keeps a rounded value from being looked through. Requires `opaque_zero` set to a zero that the
 * compiler does not know.
 */
export const PRECISE = /* wgsl */ `
var<private> opaque_zero: u32;
fn opaque_value(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) | opaque_zero); }

// The upper half of a number's digits: products of halves are exact.
fn upper_half(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }

// a * b as the rounded product and what rounding took off it (Dekker 1971).
fn exact_product(a: f32, b: f32) -> vec2<f32> {
  let product = opaque_value(a * b);
  let a_high = upper_half(a);
  let b_high = upper_half(b);
  let a_low = opaque_value(a - a_high);
  let b_low = opaque_value(b - b_high);
  let first = opaque_value(product - a_high * b_high);
  let second = opaque_value(first - a_low * b_high);
  let third = opaque_value(second - a_high * b_low);
  return vec2<f32>(product, a_low * b_low - third);
}

// a / b rounded to the nearest: the quotient corrected by its exact remainder.
fn exact_quotient(a: f32, b: f32) -> f32 {
  let quotient = opaque_value(a / b);
  let product = exact_product(quotient, b);
  let remainder = opaque_value(a - product.x) - product.y;
  return quotient + remainder / b;
}

// Cosine and sine of large angles (far positions): quarter turns are taken off with twice the digits.
fn cosine_and_sine(angle: f32) -> vec2<f32> {
  let turns = round(angle * 0.63661977);
  let taken = exact_product(turns, 1.57079637);
  let rest = opaque_value(opaque_value(angle - taken.x) - taken.y) + turns * 4.37113883e-8;
  let square = rest * rest;
  var s = 1.0 / 362880.0;
  s = fma(s, square, -1.0 / 5040.0);
  s = fma(s, square, 1.0 / 120.0);
  s = fma(s, square, -1.0 / 6.0);
  s = fma(s * square, rest, rest);
  var c = -1.0 / 3628800.0;
  c = fma(c, square, 1.0 / 40320.0);
  c = fma(c, square, -1.0 / 720.0);
  c = fma(c, square, 1.0 / 24.0);
  c = fma(c, square, -0.5);
  c = fma(c, square, 1.0);
  switch (i32(turns) & 3) {
    case 0: { return vec2<f32>(c, s); }
    case 1: { return vec2<f32>(-s, c); }
    case 2: { return vec2<f32>(-c, -s); }
    default: { return vec2<f32>(s, -c); }
  }
}
`;

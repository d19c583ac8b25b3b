/**
 * Conversions between f16 bits and f32, subnormal numbers included; WGSL's own may flush those and round as they like. Where
 * `NATIVE_HALVES`, the GPU's own conversion to f32 is known to be exact (`hasExactHalves`).
 */
export const HALVES = /* wgsl */ `
fn half_to_float(bits: u32) -> f32 {
  if (NATIVE_HALVES) { return unpack2x16float(bits).x; }
  let exponent = (bits >> 10u) & 31u;
  let fraction = bits & 0x3ffu;
  var size = bitcast<f32>(((exponent + 112u) << 23u) | (fraction << 13u));
  if (exponent == 0u) { size = f32(fraction) * 5.9604645e-8; }
  if (exponent == 31u) { size = bitcast<f32>(0x7f800000u | (fraction << 13u)); }
  return select(size, -size, (bits & 0x8000u) != 0u);
}

// Rounds to the nearest, to the even one of two.
fn float_to_half(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let sign = (bits >> 16u) & 0x8000u;
  let size = bits & 0x7fffffffu;
  if (size >= 0x47800000u) { return sign | select(0x7c00u, 0x7e00u, size > 0x7f800000u); }
  if (size < 0x38800000u) { return sign | u32(round(abs(value) * 16777216.0)); }
  return sign | ((size + 0xfffu + ((size >> 13u) & 1u) - 0x38000000u) >> 13u);
}

fn unpack_half2(word: u32) -> vec2<f32> {
  if (NATIVE_HALVES) { return unpack2x16float(word); }
  return vec2<f32>(half_to_float(word & 0xffffu), half_to_float(word >> 16u));
}
`;

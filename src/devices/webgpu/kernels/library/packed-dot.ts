const BUILT_IN = /* wgsl */ `
fn dot4(a: u32, b: u32, sum: i32) -> i32 { return dot4I8Packed(a, b) + sum; }
fn signed_bytes(quad: u32) -> vec4<i32> { return unpack4xI8(quad); }
`;

const BY_SHIFTS = /* wgsl */ `
fn signed_bytes(quad: u32) -> vec4<i32> {
  return vec4<i32>(bitcast<vec4<i32>>(vec4<u32>(quad << 24u, quad << 16u, quad << 8u, quad)) >> vec4<u32>(24u));
}
fn dot4(a: u32, b: u32, sum: i32) -> i32 {
  let products = signed_bytes(a) * signed_bytes(b);
  return products.x + products.y + products.z + products.w + sum;
}
`;

/** `dot4(a, b, sum)` over four signed bytes, `signed_bytes(quad)`. */
export function packedDotText({ packedDot }: { readonly packedDot: boolean }): string {
  return packedDot ? BUILT_IN : BY_SHIFTS;
}

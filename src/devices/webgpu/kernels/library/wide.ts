/** 64-bit integers as (high, low) words. */
export const WIDE = /* wgsl */ `
fn wide_sum(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.y + b.y;
  return vec2<u32>(a.x + b.x + select(0u, 1u, low < a.y), low);
}
fn wide_difference(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x - select(0u, 1u, a.y < b.y), a.y - b.y);
}
fn wide_less(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x < b.x || (a.x == b.x && a.y < b.y); }
fn wide_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, wide_less(a, b)); }
fn wide_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, wide_less(b, a)); }
fn is_zero(a: vec2<u32>) -> bool { return (a.x | a.y) == 0u; }

fn wide_product(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let first = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
  return vec2<u32>((a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u), (second << 16u) | (low & 0xffffu));
}
fn wide_to_float(a: vec2<u32>) -> f32 { return f32(a.x) * 4294967296.0 + f32(a.y); }
`;

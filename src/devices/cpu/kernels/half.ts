/** binary16 and bfloat16 against binary32, four or eight at a time; exact, or rounded to nearest with ties to even. */

/** 2^112: what the exponent bias of binary32 exceeds that of binary16 by. */
const REBIAS: f32 = 5192296858534827628530496329220096.0;

/**
 * Four finite halves at `p` as f32. Moving the bits into place leaves the exponent 112 too small; the multiplication mends
 * it and normalizes subnormal halves on the way, without rounding.
 */
@inline
export function widenFinite(p: usize): v128 {
  const bits = v128.and(i32x4.shl(v128.load16x4_s(p), 13), i32x4.splat(0x8fffffff));
  return f32x4.mul(bits, f32x4.splat(REBIAS));
}

/** The same for halves that stand in the upper 16 bits of each lane; the lower bits are ignored. */
@inline
export function widenFiniteUpper(lanes: v128): v128 {
  return f32x4.mul(v128.and(i32x4.shr_s(lanes, 3), i32x4.splat(0x8fffe000)), f32x4.splat(REBIAS));
}

/** Four halves at `p` as f32, infinities and NaN included. */
@inline
export function widenHalves(p: usize): v128 {
  const bits = v128.and(i32x4.shl(v128.load16x4_s(p), 13), i32x4.splat(0x8fffffff));
  const special = i32x4.gt_s(v128.and(bits, i32x4.splat(0x0fffffff)), i32x4.splat(0x0f7fffff));
  return v128.or(f32x4.mul(bits, f32x4.splat(REBIAS)), v128.and(special, i32x4.splat(0x7f800000)));
}

/** The half at `p` as f32, infinities and NaN included. */
@inline
export function widenHalf(p: usize): f32 {
  return widenHalfBits(load<u16>(p));
}

@inline
export function widenHalfBits(half: u32): f32 {
  const bits = ((half & 0x8000) << 16) | ((half & 0x7fff) << 13);
  const special: u32 = (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
  return reinterpret<f32>(reinterpret<u32>(reinterpret<f32>(bits) * REBIAS) | special);
}

/** Four f32 rounded to halves, in the lower 16 bits of each lane. NaN becomes the quiet NaN 0x7e00 with its sign. */
@inline
export function narrowToHalves(x: v128): v128 {
  const magnitude = v128.and(x, i32x4.splat(0x7fffffff));
  const odd = v128.and(i32x4.shr_u(magnitude, 13), i32x4.splat(1));
  const normal = i32x4.shr_u(i32x4.add(i32x4.add(magnitude, odd), i32x4.splat(0xfff - 0x38000000)), 13);
  // Below 2^-14 the sum with 0.5 lets the adder round to the last place of a subnormal half.
  const small = i32x4.sub(f32x4.add(magnitude, f32x4.splat(0.5)), i32x4.splat(0x3f000000));
  let bits = v128.bitselect(small, normal, i32x4.lt_s(magnitude, i32x4.splat(0x38800000)));
  bits = v128.bitselect(i32x4.splat(0x7c00), bits, i32x4.ge_s(magnitude, i32x4.splat(0x477ff000)));
  bits = v128.bitselect(i32x4.splat(0x7e00), bits, i32x4.gt_s(magnitude, i32x4.splat(0x7f800000)));
  return v128.or(bits, v128.and(i32x4.shr_u(x, 16), i32x4.splat(0x8000)));
}

/** Four finite f32, below the largest half, rounded to what halves hold. */
@inline
export function roundToHalves(x: v128): v128 {
  return widenFiniteUpper(i32x4.shl(narrowToHalves(x), 16));
}

/** `out[i] = f32(x[i])`: `n` halves to f32. */
export function widen(x: usize, out: usize, n: u32): void {
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) v128.store(out + (i << 2), widenHalves(x + (i << 1)));
  for (; i < n; i++) store<f32>(out + (i << 2), widenHalf(x + (i << 1)));
}

/** `out[i] = f16(x[i])`: `n` f32 to halves. */
export function narrow(x: usize, out: usize, n: u32): void {
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const bits = narrowToHalves(v128.load(x + (i << 2)));
    v128.store64_lane(out + (i << 1), i16x8.narrow_i32x4_u(bits, bits), 0);
  }
  for (; i < n; i++) {
    store<u16>(out + (i << 1), <u16>i32x4.extract_lane(narrowToHalves(v128.load32_splat(x + (i << 2))), 0));
  }
}

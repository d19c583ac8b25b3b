/** Elementary functions of four f32 at a time. Polynomials are near-minimax fits over the ranges named beside them. */

/** e^x within 2 units in the last place; subnormal results included, infinity above 88.73. */
@inline
export function exp4(x: v128): v128 {
  const bounded = f32x4.min(f32x4.max(x, f32x4.splat(-104)), f32x4.splat(89));
  const n = f32x4.nearest(f32x4.mul(bounded, f32x4.splat(1.4426950408889634)));
  // ln 2 in two parts, so that the remainder in [-0.347, 0.347] is exact enough.
  let r = f32x4.sub(bounded, f32x4.mul(n, f32x4.splat(0.693145751953125)));
  r = f32x4.sub(r, f32x4.mul(n, f32x4.splat(0.00000142860682030941723212)));
  let p = f32x4.splat(0.0013950488);
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(0.008368889591));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(0.04166620585));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(0.1666651884));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(0.5000000095));
  const value = f32x4.add(f32x4.add(f32x4.mul(f32x4.mul(p, r), r), r), f32x4.splat(1));
  // 2^n in two steps, because n reaches from -150 to 128.
  const whole = i32x4.trunc_sat_f32x4_s(n);
  const half = i32x4.shr_s(whole, 1);
  const scaled = f32x4.mul(value, powerOfTwo(half));
  const result = f32x4.mul(scaled, powerOfTwo(i32x4.sub(whole, half)));
  return v128.bitselect(result, x, f32x4.eq(x, x));
}

/** 2^n for n in -126 .. 127. */
@inline
function powerOfTwo(n: v128): v128 {
  return i32x4.shl(i32x4.add(n, i32x4.splat(127)), 23);
}

/** 1 / (1 + e^-x). */
@inline
export function sigmoid4(x: v128): v128 {
  return f32x4.div(f32x4.splat(1), f32x4.add(f32x4.splat(1), exp4(f32x4.neg(x))));
}

@inline
function withSignOf(magnitude: v128, x: v128): v128 {
  return v128.bitselect(x, magnitude, i32x4.splat(0x80000000));
}

/** tanh x: x + x³ P(x²) below 0.625, 1 - 2 / (e^2|x| + 1) above. */
@inline
export function tanh4(x: v128): v128 {
  const s = f32x4.mul(x, x);
  let p = f32x4.splat(-0.005717495555);
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(0.02065104289));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(-0.05374366032));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(0.1333149365));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(-0.3333328404));
  const small = f32x4.add(x, f32x4.mul(f32x4.mul(p, s), x));
  const magnitude = f32x4.abs(x);
  const grown = exp4(f32x4.add(magnitude, magnitude));
  const large = f32x4.sub(f32x4.splat(1), f32x4.div(f32x4.splat(2), f32x4.add(grown, f32x4.splat(1))));
  return v128.bitselect(small, withSignOf(large, x), f32x4.lt(magnitude, f32x4.splat(0.625)));
}

/** erf x: x P(x²) below 0.93, 1 - e^-Q(|x|) up to 4.1, beyond which it is 1. */
@inline
export function erf4(x: v128): v128 {
  const s = f32x4.mul(x, x);
  let p = f32x4.splat(0.00008345224928);
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(-0.000813743757));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(0.005200634306));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(-0.02685927078));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(0.1128369394));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(-0.376126337));
  p = f32x4.add(f32x4.mul(p, s), f32x4.splat(1.128379167));
  const small = f32x4.mul(p, x);
  const magnitude = f32x4.abs(x);
  const t = f32x4.min(magnitude, f32x4.splat(4.1));
  let q = f32x4.splat(0.0000001916601291);
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(0.00001862339935));
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(-0.0004208177876));
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(0.00412892441));
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(-0.0250397503));
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(0.1081855587));
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(0.6334156892));
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(1.129486841));
  q = f32x4.add(f32x4.mul(q, t), f32x4.splat(-0.0001697508736));
  const large = f32x4.sub(f32x4.splat(1), exp4(f32x4.neg(q)));
  return v128.bitselect(small, withSignOf(large, x), f32x4.lt(magnitude, f32x4.splat(0.93)));
}

/** ln(1 + e^x) = max(x, 0) + ln(1 + u) with u = e^-|x| in (0, 1]. */
@inline
export function softplus4(x: v128): v128 {
  const u = exp4(f32x4.neg(f32x4.abs(x)));
  let p = f32x4.splat(0.002089989003);
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(-0.01370633663));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(0.04211335363));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(-0.08318917585));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(0.1247159062));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(-0.161290883));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(0.1989701743));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(-0.2498823593));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(0.3333263507));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(-0.4999998372));
  p = f32x4.add(f32x4.mul(p, u), f32x4.splat(0.9999999994));
  return f32x4.add(f32x4.max(x, f32x4.splat(0)), f32x4.mul(p, u));
}

@inline
function swapHalves(x: v128): v128 {
  return i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
}

/** (lane 0 + lane 2) + (lane 1 + lane 3). */
@inline
export function sumLanes(x: v128): f32 {
  const pairs = f32x4.add(x, swapHalves(x));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}

@inline
export function maxLanes(x: v128): f32 {
  const pairs = f32x4.max(x, swapHalves(x));
  return max<f32>(f32x4.extract_lane(pairs, 0), f32x4.extract_lane(pairs, 1));
}

/** What blocks of several formats are taken apart with. */
import { setGroupScale } from './canonical';

/** Eight 2-bit levels of a grid entry and a byte of signs (bit i: column i), a code in each 16-bit lane. */
@inline
export function eightCodes(entry: u32, signs: u32): v128 {
  const levels = i16x8.shr_u(
    i16x8.mul(i16x8.splat(<i16>entry), i16x8(1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1)),
    14,
  );
  return v128.or(levels, signCodes(signs));
}

/** Four 3-bit levels of each of two grid entries and a byte of signs, a code in each 16-bit lane. */
@inline
export function twiceFourCodes(first: u32, second: u32, signs: u32): v128 {
  const entries = v128.bitselect(i16x8.splat(<i16>first), i16x8.splat(<i16>second), i64x2(-1, 0));
  const levels = i16x8.shr_u(
    i16x8.mul(entries, i16x8(1 << 13, 1 << 10, 1 << 7, 1 << 4, 1 << 13, 1 << 10, 1 << 7, 1 << 4)),
    13,
  );
  return v128.or(levels, signCodes(signs));
}

@inline
function signCodes(signs: u32): v128 {
  const select = i16x8(1, 2, 4, 8, 16, 32, 64, 128);
  const set = i16x8.eq(v128.and(i16x8.splat(<i16>signs), select), select);
  return v128.and(set, i16x8.splat(8));
}

/** Seven stored signs and the eighth that makes their number even. */
@inline
export function evenSigns(seven: u32): u32 {
  return seven | ((popcnt<u32>(seven) & 1) << 7);
}

@inline
export function storeCodes(codes: usize, low: v128, high: v128): void {
  v128.store(codes, i8x16.narrow_i16x8_u(low, high));
}

/** The odd levels 2c + 1 that codes `c` stand for, with the sign bit their negatives: their places among the odd numbers from -15 on. */
@inline
export function linearCodes(codes: v128): v128 {
  // 8 + c and 7 - c are these places.
  const negative = i16x8.gt_s(codes, i16x8.splat(7));
  return v128.xor(v128.or(codes, i16x8.splat(8)), v128.and(negative, i16x8.splat(15)));
}

/** The sub-scales of formats that have none. */
@inline
export function unitScales(t: usize): void {
  for (let g: u32 = 0; g < 8; g++) setGroupScale(t, g, 1);
}

/** The leading ternary digits of bytes after so many of each, 3 to that power: (3 * (byte * power mod 256)) / 256. */
@inline
export function ternaryDigits(bytes: v128, lowPowers: v128, highPowers: v128): v128 {
  return i8x16.narrow_i16x8_u(
    leadingDigits(i16x8.extend_low_i8x16_u(bytes), lowPowers),
    leadingDigits(i16x8.extend_high_i8x16_u(bytes), highPowers),
  );
}

@inline
function leadingDigits(bytes: v128, powers: v128): v128 {
  return i16x8.shr_u(i16x8.mul(v128.and(i16x8.mul(bytes, powers), i16x8.splat(255)), i16x8.splat(3)), 8);
}

/** The 16 bits at `p`, a byte each. */
@inline
export function spreadBits(p: usize): v128 {
  const bytes = i8x16.swizzle(v128.load16_splat(p), i8x16(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
  const select = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  return v128.and(i8x16.eq(v128.and(bytes, select), select), i8x16.splat(1));
}

/** The 16 pairs of bits at `p`, a byte each. */
@inline
export function spreadPairs(p: usize): v128 {
  const bytes = i8x16.swizzle(v128.load32_splat(p), i8x16(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
  const low = i8x16(1, 4, 16, 64, 1, 4, 16, 64, 1, 4, 16, 64, 1, 4, 16, 64);
  const high = i8x16(2, 8, 32, -128, 2, 8, 32, -128, 2, 8, 32, -128, 2, 8, 32, -128);
  return v128.or(
    v128.and(i8x16.eq(v128.and(bytes, low), low), i8x16.splat(1)),
    v128.and(i8x16.eq(v128.and(bytes, high), high), i8x16.splat(2)),
  );
}

/** 2^(exponent - 128), subnormal for the two smallest. */
@inline
export function halfPower(exponent: u32): f32 {
  return reinterpret<f32>(exponent < 2 ? 0x00200000 << exponent : (exponent - 1) << 23);
}

/** Half of an unsigned E4M3 number; 0x7f, its NaN, counts as 0 as in ggml. */
export function halfE4m3(bits: u32): f32 {
  const exponent = (bits >> 3) & 15;
  const mantissa = bits & 7;
  if (bits == 0x7f) return 0;
  if (exponent == 0) return <f32>mantissa * 0.0009765625;
  return <f32>(mantissa + 8) * reinterpret<f32>((exponent + 127 - 11) << 23);
}

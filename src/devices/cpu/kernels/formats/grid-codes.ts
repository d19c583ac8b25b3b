/** Entries of the grids spread to codes: a level's number in bits 0-2, the sign in bit 3. */

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

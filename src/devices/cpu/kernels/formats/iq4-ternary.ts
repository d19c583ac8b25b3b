/** IQ4_XS (16 uneven levels) and the ternary TQ1_0 and TQ2_0. */
import { setGroupScale, setScale } from '../canonical';
import { splitNibbles } from '../canonical';
import { widenHalf } from '../half';

/** IQ4_XS: f16 d, u16 of upper 2 scale bits, 4 bytes of lower nibbles, 128 bytes of nibbles; d * (ls - 32) * table[q]. */
@inline
export function unpackIq4Xs(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  const upper = <u32>load<u16>(src + 2);
  for (let g: u32 = 0; g < 8; g++) {
    const low = (<u32>load<u8>(src + 4 + (g >> 1)) >> (4 * (g & 1))) & 15;
    setGroupScale(t, g, <i32>(low | (((upper >> (2 * g)) & 3) << 4)) - 32);
    splitNibbles(src + 8 + 16 * g, t + 32 * g, 16);
  }
}

@inline
function unitScales(t: usize): void {
  for (let g: u32 = 0; g < 8; g++) setGroupScale(t, g, 1);
}

/** The leading ternary digit of bytes scaled by 3^n: (3 * (byte * 3^n mod 256)) / 256. */
@inline
function leadingDigits(bytes: v128, power: i32): v128 {
  const digits = i16x8.shr_u(
    i16x8.mul(v128.and(i16x8.mul(i16x8.extend_low_i8x16_u(bytes), i16x8.splat(<i16>power)), i16x8.splat(255)), i16x8.splat(3)),
    8,
  );
  const upper = i16x8.shr_u(
    i16x8.mul(v128.and(i16x8.mul(i16x8.extend_high_i8x16_u(bytes), i16x8.splat(<i16>power)), i16x8.splat(255)), i16x8.splat(3)),
    8,
  );
  return i8x16.narrow_i16x8_u(digits, upper);
}

/**
 * TQ1_0: 48 bytes of five ternary digits (the first 32 make columns 0-159, digit by digit, the other 16 columns 160-239),
 * 4 bytes of four digits (columns 240-255), f16 d; d * (q - 1).
 */
@inline
export function unpackTq1(src: usize, t: usize): void {
  setScale(t, widenHalf(src + 52));
  unitScales(t);
  let power = 1;
  for (let digit: usize = 0; digit < 5; digit++) {
    v128.store(t + 32 * digit, leadingDigits(v128.load(src), power));
    v128.store(t + 32 * digit + 16, leadingDigits(v128.load(src + 16), power));
    v128.store(t + 160 + 16 * digit, leadingDigits(v128.load(src + 32), power));
    if (digit < 4) v128.store32_lane(t + 240 + 4 * digit, leadingDigits(v128.load32_zero(src + 48), power), 0);
    power *= 3;
  }
}

/** TQ2_0: 64 bytes of 2-bit codes (32 bytes make 128 columns, two bits after the other), f16 d; d * (q - 1). */
@inline
export function unpackTq2(src: usize, t: usize): void {
  setScale(t, widenHalf(src + 64));
  unitScales(t);
  for (let part: usize = 0; part < 16; part++) {
    const q = v128.load(src + (part >> 3) * 32 + (part & 1) * 16);
    v128.store(t + 16 * part, v128.and(i8x16.shr_u(q, 2 * <i32>((part >> 1) & 3)), i8x16.splat(3)));
  }
}

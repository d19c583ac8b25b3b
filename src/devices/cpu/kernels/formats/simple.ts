/** Formats with blocks of 32 columns and one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, MXFP4; and NVFP4's scales. */
import { setOffset, setScale, splitNibbles } from '../canonical';
import { widenHalf } from '../half';

/** Q4_0: f16 d, 16 bytes of nibbles (low: columns 0-15, high: 16-31); d * (q - 8). */
@inline
export function unpackQ4_0(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  splitNibbles(src + 2, t, 16);
}

/** Q4_1: f16 d, f16 m, nibbles as Q4_0; d * q + m. */
@inline
export function unpackQ4_1(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  setOffset(t, widenHalf(src + 2));
  splitNibbles(src + 4, t, 16);
}

/** Sets bit 4 of the codes where the bit of the same number in the u32 at `bits` is set. */
@inline
function addFifthBits(bits: usize, t: usize): void {
  const select = v128.load(BIT_OF_BYTE);
  for (let half: usize = 0; half < 2; half++) {
    const two = <i32>load<u16>(bits + 2 * half);
    const spread = i8x16.shuffle(i8x16.splat(<i8>two), i8x16.splat(<i8>(two >> 8)), 0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 16, 16, 16, 16, 16);
    const set = i8x16.eq(v128.and(spread, select), select);
    v128.store(t + 16 * half, v128.or(v128.load(t + 16 * half), v128.and(set, i8x16.splat(16))));
  }
}

const BIT_OF_BYTE: usize = memory.data<u8>([1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);

/** Q5_0: f16 d, u32 of fifth bits, nibbles as Q4_0; d * (q - 16). */
@inline
export function unpackQ5_0(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  splitNibbles(src + 6, t, 16);
  addFifthBits(src + 2, t);
}

/** Q5_1: f16 d, f16 m, u32 of fifth bits, nibbles; d * q + m. */
@inline
export function unpackQ5_1(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  setOffset(t, widenHalf(src + 2));
  splitNibbles(src + 8, t, 16);
  addFifthBits(src + 4, t);
}

/** Q8_0: f16 d, 32 signed bytes; d * q. */
@inline
export function unpackQ8_0(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  v128.store(t, v128.load(src + 2));
  v128.store(t + 16, v128.load(src + 18));
}

/** MXFP4: u8 exponent e, nibbles as Q4_0 of twice the E2M1 values; 2^(e - 128) * table[q]. */
@inline
export function unpackMxfp4(src: usize, t: usize): void {
  const e = <u32>load<u8>(src);
  setScale(t, reinterpret<f32>(e < 2 ? 0x00200000 << e : (e - 1) << 23));
  splitNibbles(src + 1, t, 16);
}

/**
 * NVFP4: 64 columns; four u8 scales (UE4M3), then for each 16 columns eight bytes of nibbles (low: columns 0-7, high: 8-15)
 * of twice the E2M1 values. Only the codes: `nvfp4Scale` gives the scales.
 */
@inline
export function unpackNvfp4(src: usize, t: usize): void {
  for (let part: usize = 0; part < 4; part++) {
    const q = v128.load64_zero(src + 4 + 8 * part);
    const both = i64x2.extract_lane(v128.and(i16x8.shr_u(q, 4), i8x16.splat(15)), 0);
    store<i64>(t + 16 * part, i64x2.extract_lane(v128.and(q, i8x16.splat(15)), 0));
    store<i64>(t + 16 * part + 8, both);
  }
}

/** Half of an UE4M3 number (the table holds doubled values); 0x7f, its NaN, counts as 0 as in ggml. */
export function nvfp4Scale(bits: u32): f32 {
  const exponent = (bits >> 3) & 15;
  const mantissa = bits & 7;
  if (bits == 0x7f) return 0;
  if (exponent == 0) return <f32>mantissa * 0.0009765625;
  return <f32>(mantissa + 8) * reinterpret<f32>((exponent + 127 - 11) << 23);
}

/** Super-blocks of 256 columns with sub-scales: Q2_K, Q3_K, Q4_K, Q5_K, Q6_K. */
import { setGroupOffset, setGroupScale, setOffset, setScale, splitNibbles, SUB_OFFSETS, SUB_SCALES } from '../canonical';
import { widenHalf } from '../half';

/** Q2_K: 16 bytes (low nibble: scale, high: minimum), 64 bytes of 2-bit codes, f16 d, f16 dmin; d * sc * q - dmin * m. */
@inline
export function unpackQ2_K(src: usize, t: usize): void {
  setScale(t, widenHalf(src + 80));
  setOffset(t, -widenHalf(src + 82));
  splitNibbles(src, t + SUB_SCALES, SUB_OFFSETS - SUB_SCALES);
  for (let part: usize = 0; part < 4; part++) {
    const q = v128.load(src + 16 + (part >> 1) * 32 + (part & 1) * 16);
    const codes = t + (part >> 1) * 128 + (part & 1) * 16;
    const mask = i8x16.splat(3);
    v128.store(codes, v128.and(q, mask));
    v128.store(codes + 32, v128.and(i16x8.shr_u(q, 2), mask));
    v128.store(codes + 64, v128.and(i16x8.shr_u(q, 4), mask));
    v128.store(codes + 96, v128.and(i16x8.shr_u(q, 6), mask));
  }
}

/**
 * Q3_K: 32 bytes of third bits, 64 bytes of 2-bit codes, 12 bytes of sixteen 6-bit scales less 32, f16 d;
 * d * sc * (q - 4).
 */
@inline
export function unpackQ3_K(src: usize, t: usize): void {
  setScale(t, widenHalf(src + 108));
  for (let i: usize = 0; i < 16; i++) {
    const low = (load<u8>(src + 96 + (i & 7)) >> (i < 8 ? 0 : 4)) & 15;
    const high = (load<u8>(src + 104 + (i & 3)) >> <u8>((i >> 2) << 1)) & 3;
    store<i8>(t + SUB_SCALES + i, <i8>((low | (high << 4)) - 32));
  }
  for (let part: usize = 0; part < 16; part++) {
    const upper = (part & 1) * 16;
    const shift = <i32>((part >> 1) & 3);
    const q = v128.load(src + 32 + (part >> 3) * 32 + upper);
    const third = v128.load(src + upper);
    const low = v128.and(i8x16.shr_u(q, 2 * shift), i8x16.splat(3));
    const high = v128.and(i8x16.shr_u(third, <i32>(part >> 1)), i8x16.splat(1));
    v128.store(t + part * 16, v128.or(low, i8x16.shl(high, 2)));
  }
}

/** The eight 6-bit scales and minimums of Q4_K and Q5_K out of 12 bytes. */
@inline
function unpackSixBitPairs(src: usize, t: usize): void {
  for (let g: u32 = 0; g < 4; g++) {
    const a = <i32>load<u8>(src + g);
    const b = <i32>load<u8>(src + 4 + g);
    const c = <i32>load<u8>(src + 8 + g);
    setGroupScale(t, g, a & 63);
    setGroupOffset(t, g, b & 63);
    setGroupScale(t, g + 4, (c & 15) | ((a >> 6) << 4));
    setGroupOffset(t, g + 4, (c >> 4) | ((b >> 6) << 4));
  }
}

/** Q4_K: f16 d, f16 dmin, 12 bytes of scales and minimums, 128 bytes of nibbles (32 low, 32 high); d * sc * q - dmin * m. */
@inline
export function unpackQ4_K(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  setOffset(t, -widenHalf(src + 2));
  unpackSixBitPairs(src + 4, t);
  for (let part: usize = 0; part < 8; part++) {
    splitNibbles(src + 16 + part * 16, t + (part >> 1) * 64 + (part & 1) * 16, 32);
  }
}

/** Q5_K: as Q4_K with 32 bytes of fifth bits (bit g: group g) before the nibbles. */
@inline
export function unpackQ5_K(src: usize, t: usize): void {
  setScale(t, widenHalf(src));
  setOffset(t, -widenHalf(src + 2));
  unpackSixBitPairs(src + 4, t);
  for (let part: usize = 0; part < 8; part++) {
    splitNibbles(src + 48 + part * 16, t + (part >> 1) * 64 + (part & 1) * 16, 32);
  }
  for (let part: usize = 0; part < 16; part++) {
    const fifth = v128.and(
      i8x16.shr_u(v128.load(src + 16 + (part & 1) * 16), <i32>(part >> 1)),
      i8x16.splat(1),
    );
    v128.store(t + part * 16, v128.or(v128.load(t + part * 16), i8x16.shl(fifth, 4)));
  }
}

/** Q6_K: 128 bytes of low nibbles, 64 bytes of upper 2 bits, 16 signed scales, f16 d; d * sc * (q - 32). */
@inline
export function unpackQ6_K(src: usize, t: usize): void {
  setScale(t, widenHalf(src + 208));
  v128.store(t + SUB_SCALES, v128.load(src + 192));
  for (let part: usize = 0; part < 4; part++) {
    const half = part >> 1;
    const column = (part & 1) * 16;
    const low = v128.load(src + half * 64 + column);
    const next = v128.load(src + half * 64 + 32 + column);
    const high = v128.load(src + 128 + half * 32 + column);
    const codes = t + half * 128 + column;
    const nibble = i8x16.splat(15);
    const bits = i8x16.splat(0x30);
    v128.store(codes, v128.or(v128.and(low, nibble), v128.and(i16x8.shl(high, 4), bits)));
    v128.store(codes + 32, v128.or(v128.and(next, nibble), v128.and(i16x8.shl(high, 2), bits)));
    v128.store(codes + 64, v128.or(v128.and(i16x8.shr_u(low, 4), nibble), v128.and(high, bits)));
    v128.store(codes + 96, v128.or(v128.and(i16x8.shr_u(next, 4), nibble), v128.and(i16x8.shr_u(high, 2), bits)));
  }
}

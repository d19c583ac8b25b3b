/**
 * Blocks of states, as `STATE_BLOCKS` defines them: quants in one plane, what scales them in another. Divisions are those of
 * f32, so that every device stores the same bytes.
 */
import { narrowToHalves, widenHalf } from './half';
import { maxLanes } from './math';

const BLOCK: u32 = 32;
const INFINITE_HALF: u32 = 0x7c00;
const NAN_HALF: u16 = 0x7e00;

/** The bits of the largest magnitude of 32 f32: as integers they are in the order of what they mean, NaN above all. */
@inline
function topBits(x: usize): u32 {
  let top = i32x4.splat(0);
  for (let i: usize = 0; i < 128; i += 16) {
    top = i32x4.max_u(top, v128.and(v128.load(x + i), i32x4.splat(0x7fffffff)));
  }
  top = i32x4.max_u(top, i8x16.shuffle(top, top, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return max<u32>(i32x4.extract_lane(top, 0), i32x4.extract_lane(top, 1));
}

/** Four values above the least as integers, halves away from zero; NaN is zero. */
@inline
function levels(x: usize, least: v128, inverse: v128): v128 {
  const scaled = f32x4.mul(f32x4.sub(v128.load(x), least), inverse);
  const whole = f32x4.trunc(scaled);
  const rest = f32x4.sub(scaled, whole);
  return i32x4.trunc_sat_f32x4_s(f32x4.add(whole, f32x4.trunc(f32x4.add(rest, rest))));
}

@inline
function sixteen(x: usize, least: v128, inverse: v128): v128 {
  return i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(levels(x, least, inverse), levels(x + 16, least, inverse)),
    i16x8.narrow_i32x4_s(levels(x + 32, least, inverse), levels(x + 48, least, inverse)),
  );
}

/** Quantizes `blocks` blocks of 32 f32 at `x`, as `quantizeStateBlock` says. */
export function quantizeStateBlocks(x: usize, quants: usize, scales: usize, blocks: u32): void {
  for (let i: u32 = 0; i < blocks; i++) {
    const scale = reinterpret<f32>(topBits(x)) / 127;
    const half = <u32>i32x4.extract_lane(narrowToHalves(f32x4.splat(scale)), 0);
    const isPlain = half > 0 && half < INFINITE_HALF;
    const inverse = f32x4.splat(isPlain ? <f32>1 / scale : 0);
    v128.store(quants, sixteen(x, f32x4.splat(0), inverse));
    v128.store(quants + 16, sixteen(x + 64, f32x4.splat(0), inverse));
    store<u16>(scales, half < INFINITE_HALF ? <u16>half : NAN_HALF);
    x += BLOCK << 2;
    quants += BLOCK;
    scales += 2;
  }
}

@inline
function widenFour(quants: v128, scale: v128): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(quants), scale);
}

/** Decodes `size` elements, whole blocks, to f32 at `out`. */
@inline
export function decodeStateBlocks(quants: usize, scales: usize, out: usize, size: u32): void {
  for (let d: u32 = 0; d < size; d += BLOCK) {
    const scale = f32x4.splat(widenHalf(scales));
    for (let i: usize = 0; i < 32; i += 16) {
      const bytes = v128.load(quants + i);
      const low = i16x8.extend_low_i8x16_s(bytes);
      const high = i16x8.extend_high_i8x16_s(bytes);
      v128.store(out, widenFour(i32x4.extend_low_i16x8_s(low), scale));
      v128.store(out + 16, widenFour(i32x4.extend_high_i16x8_s(low), scale));
      v128.store(out + 32, widenFour(i32x4.extend_low_i16x8_s(high), scale));
      v128.store(out + 48, widenFour(i32x4.extend_high_i16x8_s(high), scale));
      out += 64;
    }
    quants += BLOCK;
    scales += 2;
  }
}

/** Sixteen levels of at most four bits as eight bytes, the first of two neighbours lower. */
@inline
function packNibbles(levels: v128): v128 {
  const low = v128.and(levels, i16x8.splat(15));
  const high = v128.and(i16x8.shr_u(levels, 4), i16x8.splat(0xf0));
  const packed = v128.or(low, high);
  return i8x16.narrow_i16x8_u(packed, packed);
}

/** Quantizes `blocks` blocks of 32 f32 at `x` to q4_0. */
export function quantizeNibbleBlocks(x: usize, quants: usize, scales: usize, blocks: u32): void {
  for (let b: u32 = 0; b < blocks; b++) {
    let top: u32 = 0;
    let extreme: u32 = 0;
    for (let i: usize = 0; i < 128; i += 4) {
      const bits = load<u32>(x + i);
      if ((bits & 0x7fffffff) > top) {
        top = bits & 0x7fffffff;
        extreme = bits;
      }
    }
    const d = reinterpret<f32>(extreme) * <f32>-0.125;
    const half = <u32>i32x4.extract_lane(narrowToHalves(f32x4.splat(d)), 0) & 0xffff;
    const isPlain = (half & 0x7fff) > 0 && (half & 0x7fff) < INFINITE_HALF;
    const inverse = f32x4.splat(isPlain ? <f32>1 / d : 0);
    for (let i: usize = 0; i < 2; i++) {
      const levels = i8x16.min_u(i8x16.add(sixteen(x + (i << 6), f32x4.splat(0), inverse), i8x16.splat(8)), i8x16.splat(15));
      v128.store64_lane(quants + (i << 3), packNibbles(levels), 0);
    }
    const stored = (half & 0x7fff) == 0 ? 0 : <u16>half;
    store<u16>(scales, (half & 0x7fff) < INFINITE_HALF ? stored : NAN_HALF);
    x += BLOCK << 2;
    quants += 16;
    scales += 2;
  }
}

/** Quantizes `blocks` blocks of 32 f32 at `x` to q5_1. */
export function quantizeFiveBitBlocks(x: usize, quants: usize, scales: usize, blocks: u32): void {
  for (let b: u32 = 0; b < blocks; b++) {
    let low = v128.load(x);
    let high = low;
    for (let i: usize = 16; i < 128; i += 16) {
      const values = v128.load(x + i);
      low = f32x4.min(low, values);
      high = f32x4.max(high, values);
    }
    const lowest = minLanes(low);
    // A zero has no sign.
    const least: f32 = lowest == 0 ? 0 : lowest;
    const d = (maxLanes(high) - least) / 31;
    const halves = narrowToHalves(f32x4(d, least, 0, 0));
    const scale = <u32>i32x4.extract_lane(halves, 0) & 0xffff;
    const offset = <u32>i32x4.extract_lane(halves, 1) & 0xffff;
    const isNumber = topBits(x) < 0x7f800000 && scale < INFINITE_HALF && (offset & 0x7fff) < INFINITE_HALF;
    const inverse = f32x4.splat(isNumber && scale > 0 ? <f32>1 / d : 0);
    let fifths: u32 = 0;
    for (let i: usize = 0; i < 2; i++) {
      const levels = i8x16.min_u(sixteen(x + (i << 6), f32x4.splat(least), inverse), i8x16.splat(31));
      v128.store64_lane(quants + (i << 3), packNibbles(v128.and(levels, i8x16.splat(15))), 0);
      fifths |= <u32>i8x16.bitmask(i8x16.shl(levels, 3)) << (<u32>i << 4);
    }
    store<u16>(scales, isNumber ? <u16>scale : NAN_HALF);
    store<u16>(scales + 2, isNumber ? <u16>offset : NAN_HALF);
    store<u32>(scales + 4, fifths);
    x += BLOCK << 2;
    quants += 16;
    scales += 8;
  }
}

@inline
function minLanes(x: v128): f32 {
  const pairs = f32x4.min(x, i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return min<f32>(f32x4.extract_lane(pairs, 0), f32x4.extract_lane(pairs, 1));
}

/** Eight bytes as sixteen levels of four bits. */
@inline
function unpackNibbles(quants: usize): v128 {
  const bytes = v128.load64_zero(quants);
  const low = v128.and(bytes, i8x16.splat(15));
  const high = i8x16.shr_u(bytes, 4);
  return i8x16.shuffle(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/** Sixteen bits as bytes of 16 or 0. */
@inline
function fifthBits(bits: u32): v128 {
  const spread = i8x16.shuffle(i32x4.splat(bits), i32x4.splat(bits), 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const places = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  return v128.and(i8x16.eq(v128.and(spread, places), places), i8x16.splat(16));
}

/** Sixteen signed bytes times a scale, and an offset, as f32 at `out`. */
@inline
function storeSixteen(out: usize, bytes: v128, scale: v128, offset: v128): void {
  const low = i16x8.extend_low_i8x16_s(bytes);
  const high = i16x8.extend_high_i8x16_s(bytes);
  v128.store(out, f32x4.add(widenFour(i32x4.extend_low_i16x8_s(low), scale), offset));
  v128.store(out + 16, f32x4.add(widenFour(i32x4.extend_high_i16x8_s(low), scale), offset));
  v128.store(out + 32, f32x4.add(widenFour(i32x4.extend_low_i16x8_s(high), scale), offset));
  v128.store(out + 48, f32x4.add(widenFour(i32x4.extend_high_i16x8_s(high), scale), offset));
}

/** Decodes `size` elements of q4_0 to f32 at `out`. */
@inline
export function decodeNibbleBlocks(quants: usize, scales: usize, out: usize, size: u32): void {
  const none = f32x4.splat(0);
  for (let d: u32 = 0; d < size; d += BLOCK) {
    const scale = f32x4.splat(widenHalf(scales));
    storeSixteen(out, i8x16.sub(unpackNibbles(quants), i8x16.splat(8)), scale, none);
    storeSixteen(out + 64, i8x16.sub(unpackNibbles(quants + 8), i8x16.splat(8)), scale, none);
    out += 128;
    quants += 16;
    scales += 2;
  }
}

/** Decodes `size` elements of q5_1 to f32 at `out`. */
@inline
export function decodeFiveBitBlocks(quants: usize, scales: usize, out: usize, size: u32): void {
  for (let d: u32 = 0; d < size; d += BLOCK) {
    const scale = f32x4.splat(widenHalf(scales));
    const offset = f32x4.splat(widenHalf(scales + 2));
    const fifths = load<u32>(scales + 4);
    storeSixteen(out, v128.or(unpackNibbles(quants), fifthBits(fifths)), scale, offset);
    storeSixteen(out + 64, v128.or(unpackNibbles(quants + 8), fifthBits(fifths >> 16)), scale, offset);
    out += 128;
    quants += 16;
    scales += 8;
  }
}

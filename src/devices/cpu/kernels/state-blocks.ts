/**
 * Blocks of a `q8_0` state: 32 signed bytes in one plane, and an f16 value as their scale in another. Divisions are those of f32,
 * so that every device stores the same bytes.
 */
import { narrowToHalves, widenHalf } from './half';

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

/** Four values as integers, halves away from zero; NaN is zero. */
@inline
function levels(x: usize, inverse: v128): v128 {
  const scaled = f32x4.mul(v128.load(x), inverse);
  const whole = f32x4.trunc(scaled);
  const rest = f32x4.sub(scaled, whole);
  return i32x4.trunc_sat_f32x4_s(f32x4.add(whole, f32x4.trunc(f32x4.add(rest, rest))));
}

@inline
function sixteen(x: usize, inverse: v128): v128 {
  return i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(levels(x, inverse), levels(x + 16, inverse)),
    i16x8.narrow_i32x4_s(levels(x + 32, inverse), levels(x + 48, inverse)),
  );
}

/** Quantizes `blocks` blocks of 32 f32 at `x`, as `quantizeStateBlock` says. */
export function quantizeStateBlocks(x: usize, quants: usize, scales: usize, blocks: u32): void {
  for (let i: u32 = 0; i < blocks; i++) {
    const scale = reinterpret<f32>(topBits(x)) / 127;
    const half = <u32>i32x4.extract_lane(narrowToHalves(f32x4.splat(scale)), 0);
    const isPlain = half > 0 && half < INFINITE_HALF;
    const inverse = f32x4.splat(isPlain ? <f32>1 / scale : 0);
    v128.store(quants, sixteen(x, inverse));
    v128.store(quants + 16, sixteen(x + 64, inverse));
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

/**
 * The scale words of a group: f32 scales and offsets of four rows, or sub-scales as what pairs of 16-bit sums are multiplied by.
 */
import { widenFinite } from './half';
import * as L from './layout';

/** The scale of a group without sub-scales, or of its first half. */
@inline
export function scaleOf(words: i32, at: usize): v128 {
  if (words == L.HALF || words == L.HALF_OFFSET) return widenFinite(at);
  return v128.load(at);
}

/** The scale of the second half of a group whose halves have scales of their own (`FLOAT_16`). */
@inline
export function secondScaleOf(at: usize): v128 {
  return v128.load(at + 16);
}

/** The offset of a group without sub-scales, or of a half of it; `own` is its scale, `bias` the header's -bias. */
@inline
export function offsetOf(words: i32, at: usize, own: v128, bias: v128): v128 {
  if (words == L.HALF_OFFSET) return widenFinite(at + 8);
  return f32x4.mul(own, bias);
}

/** The first four of eight 16-bit lanes, each twice. */
@inline
function lowTwice(lanes: v128): v128 {
  return i8x16.shuffle(lanes, lanes, 0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7);
}

@inline
function highTwice(lanes: v128): v128 {
  return i8x16.shuffle(lanes, lanes, 8, 9, 8, 9, 10, 11, 10, 11, 12, 13, 12, 13, 14, 15, 14, 15);
}

/** The first four of eight 16-bit lanes beside the others. */
@inline
function lowBesideHigh(lanes: v128): v128 {
  return i8x16.shuffle(lanes, lanes, 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
}

/** The sub-scale of each row twice, in 16 bits: the group's, or its first half's. */
@inline
export function subScales(at: usize): v128 {
  return lowTwice(v128.load8x8_s(at));
}

/** Those of the second half, where halves have sub-scales of their own. */
@inline
export function secondSubScales(at: usize): v128 {
  return highTwice(v128.load8x8_s(at));
}

/** What the sums of activations of both halves are multiplied by in 16 bits: sub-offsets, or where there are none, sub-scales. */
@inline
export function subOffsets(words: i32, at: usize): v128 {
  if (words == L.SUB) return highTwice(v128.load8x8_s(at));
  return lowBesideHigh(v128.load8x8_s(words == L.SUB_16_OFFSET ? at + 8 : at));
}

/** What a super-block adds to four outputs, out of its sums; `scales` is its pair of vectors, `xScale` the activations' scale. */
@inline
export function superProduct(codes: i32, scales: usize, xScale: v128, scaled: v128, shifted: v128): v128 {
  const product = f32x4.mul(f32x4.convert_i32x4_s(scaled), f32x4.mul(v128.load(scales), xScale));
  if (L.isCentered(codes)) return product;
  return f32x4.add(product, f32x4.mul(f32x4.convert_i32x4_s(shifted), f32x4.mul(v128.load(scales + 16), xScale)));
}

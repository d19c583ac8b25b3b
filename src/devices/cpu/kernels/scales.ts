/** The scale words of a group as f32 scales and offsets of four rows. */
import { widenFinite } from './half';
import * as L from './layout';

/** Four signed bytes in the lower half of eight 16-bit lanes, as f32. */
@inline
function lowFloats(words: v128): v128 {
  return f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(words));
}

@inline
function highFloats(words: v128): v128 {
  return f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(words));
}

/** The scale of the group, or of its first half. `scale` is the super-block's. */
@inline
export function scaleOf(words: i32, at: usize, scale: v128): v128 {
  if (words == L.HALF || words == L.HALF_OFFSET) return widenFinite(at);
  if (words == L.FLOAT || words == L.FLOAT_16) return v128.load(at);
  return f32x4.mul(scale, lowFloats(v128.load8x8_s(at)));
}

/** The scale of the group's second half. */
@inline
export function secondScaleOf(words: i32, at: usize, scale: v128): v128 {
  if (words == L.FLOAT_16) return v128.load(at + 16);
  return f32x4.mul(scale, highFloats(v128.load8x8_s(at)));
}

/** The offset of the group, or of its first half; `own` is its scale, `bias` the header's -bias. */
@inline
export function offsetOf(words: i32, at: usize, own: v128, offset: v128, bias: v128): v128 {
  if (words == L.HALF_OFFSET) return widenFinite(at + 8);
  if (words == L.SUB) return f32x4.mul(offset, highFloats(v128.load8x8_s(at)));
  if (words == L.SUB_16_OFFSET) return f32x4.mul(offset, lowFloats(v128.load8x8_s(at + 8)));
  return f32x4.mul(own, bias);
}

/** The offset of the group's second half. */
@inline
export function secondOffsetOf(words: i32, at: usize, own: v128, offset: v128, bias: v128): v128 {
  if (words == L.SUB_16_OFFSET) return f32x4.mul(offset, highFloats(v128.load8x8_s(at + 8)));
  return f32x4.mul(own, bias);
}

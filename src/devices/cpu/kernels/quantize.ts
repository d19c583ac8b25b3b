import { narrowToHalves, widenHalfBits } from './half';

/**
 * Activations in 8 bits. A group of 32 columns of a row becomes a record of 48 bytes:
 *
 * | at | holds |
 * |---|---|
 * | 0 | 32 signed bytes q = round(x / s), ties to even, with s = max abs(x) / 127 over the group's span |
 * | 32 | f32 s |
 * | 36 | with a span of one group: f32 s * sum(q) |
 * | 40 | with a span of one group: f32 s * sum(q) of the first 16 columns |
 * | 44 | with a span of one group: i32 -8 * sum(q), what lifting weights by 8 adds to a product, to be taken off; of eight: i16 sum(q) of the first 16 columns, i16 sum(q) of the others |
 *
 * `lanes` rows (1, or tiles of 16 for products of many rows) stand interleaved: a record a lane, then the next group.
 * A span is one group, or eight: ggml's K-quants multiply activations that share a scale over 256 columns (`block_q8_K`),
 * and so do ours, because whole models are compared with it. Columns beyond the row's end count as zeros. A NaN or an infinity in a group makes its scale one, and so the products.
 */
export const RECORD_BYTES: usize = 48;
/** Bytes of a tile's records of one group. */
export const TILE_STEP: usize = 16 * RECORD_BYTES;
export const X_SCALE: usize = 32;
export const X_SUM: usize = 36;
export const X_FIRST_SUM: usize = 40;
export const X_LIFT: usize = 44;
export const X_SUMS: usize = 44;

/** The least and the most that a normal half holds. */
const MIN_HALF: f32 = 6.103515625e-5;
const MAX_HALF: f32 = 65504;

/** Below this a group counts as zeros: 127 / max would not be finite. */
const TINY: f32 = 1e-36;

@inline
function maxMagnitude(a: v128, b: v128): v128 {
  return f32x4.max(a, f32x4.abs(b));
}

@inline
function rounded(x: usize, factor: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(x), factor)));
}

@inline
function sumOfBytes(q: v128): i32 {
  const pairs = i32x4.extadd_pairwise_i16x8_s(i16x8.extadd_pairwise_i8x16_s(q));
  const halves = i32x4.add(pairs, i8x16.shuffle(pairs, pairs, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return i32x4.extract_lane(halves, 0) + i32x4.extract_lane(halves, 1);
}

/** The largest magnitude of `groups` groups at `x`. */
@inline
function absMax(x: usize, groups: u32): f32 {
  let high = f32x4.splat(0);
  const end = x + (<usize>groups << 7);
  for (; x < end; x += 32) high = maxMagnitude(maxMagnitude(high, v128.load(x)), v128.load(x, 16));
  high = f32x4.max(high, i8x16.shuffle(high, high, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return max<f32>(f32x4.extract_lane(high, 0), f32x4.extract_lane(high, 1));
}

/** A scale rounded to a normal half; one that is none stays as it is. */
@inline
function asHalf(scale: f32): f32 {
  if (scale < MIN_HALF || scale > MAX_HALF) return scale;
  return widenHalfBits(i32x4.extract_lane(narrowToHalves(f32x4.splat(scale)), 0));
}

/** The record of 32 values at `x`, none of them larger than `top`; `alone` if they are a span. */
@inline
function quantizeGroup(x: usize, record: usize, top: f32, alone: bool): void {
  const factor: f32 = top < TINY ? 0 : <f32>127 / top;
  const inverse = f32x4.splat(factor);
  const exact: f32 = alone ? asHalf(top / 127) : <f32>1 / factor;
  const scale: f32 = top < TINY ? 0 : exact;
  const first = i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(rounded(x, inverse), rounded(x + 16, inverse)),
    i16x8.narrow_i32x4_s(rounded(x + 32, inverse), rounded(x + 48, inverse)),
  );
  const second = i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(rounded(x + 64, inverse), rounded(x + 80, inverse)),
    i16x8.narrow_i32x4_s(rounded(x + 96, inverse), rounded(x + 112, inverse)),
  );
  const firstSum = sumOfBytes(first);
  const secondSum = sumOfBytes(second);
  const sum = firstSum + secondSum;
  v128.store(record, first);
  v128.store(record + 16, second);
  store<f32>(record + X_SCALE, scale);
  if (alone) {
    store<f32>(record + X_SUM, scale * <f32>sum);
    store<f32>(record + X_FIRST_SUM, scale * <f32>firstSum);
    store<i32>(record + X_LIFT, -8 * sum);
    return;
  }
  store<i16>(record + X_SUMS, <i16>firstSum);
  store<i16>(record + X_SUMS + 2, <i16>secondSum);
}

/** Quantizes the row of `columns` f32 at `x` into records that are `step` bytes apart, `span` groups with one scale. */
function quantizeRow(x: usize, out: usize, columns: u32, step: usize, scratch: usize, span: u32): void {
  const whole = columns >> 5;
  for (let g: u32 = 0; g < whole; g += span) {
    const groups = min(span, whole - g);
    const top = absMax(x, groups);
    for (let i: u32 = 0; i < groups; i++) {
      quantizeGroup(x, out, top, span == 1);
      x += 128;
      out += step;
    }
  }
  const rest = columns & 31;
  if (rest == 0) return;
  memory.fill(scratch, 0, 128);
  memory.copy(scratch, x, rest << 2);
  quantizeGroup(scratch, out, absMax(scratch, 1), span == 1);
}

/**
 * Quantizes `columns` f32 of each of `rows` rows of `width`, the first of which are at `x`, into lanes from lane `lane` of the tile at
 * `out` on, which goes on in the next tile; `span` groups have one scale. `scratch` takes 128 bytes.
 */
export function quantize(
  x: usize,
  out: usize,
  columns: u32,
  width: u32,
  rows: u32,
  lanes: u32,
  lane: u32,
  scratch: usize,
  span: u32,
): void {
  const step = RECORD_BYTES * lanes;
  const tile = step * ((width + 31) >> 5);
  for (; rows > 0; rows--) {
    quantizeRow(x, out + RECORD_BYTES * lane, columns, step, scratch, span);
    x += 4 * <usize>width;
    lane++;
    if (lane < lanes) continue;
    lane = 0;
    out += tile;
  }
}

/**
 * A packed weight times one row of quantized activations. Every output is one chain of f32 additions in the order of the groups, or
 * with sub-scales of the super-blocks, whose sums are whole numbers: the same that `matmat.ts` computes.
 */
import {
  highNibbles,
  lookUp,
  lowNibbles,
  rowSums,
  sum16Large,
  sum16Medium,
  sum16Small,
} from './dot';
import { storeOutputs } from './store';
import * as L from './layout';
import { RECORD_BYTES, X_FIRST_SUM, X_LIFT, X_SCALE, X_SUM, X_SUMS } from './quantize';
import { offsetOf, scaleOf, secondScaleOf, secondSubScales, subOffsets, subScales, superProduct } from './scales';

/** Sums over half a group of nibbles, as they are or looked up, that stay below 16: in 16 bits; else row sums times `by`. */
@inline
function nibbleSums(codes: i32, p: usize, x0: v128, x1: v128, x2: v128, x3: v128, table: v128, by: v128): v128 {
  const q0 = v128.load(p);
  const q1 = v128.load(p + 16);
  if (codes == L.SMALL || codes == L.LIFTED) {
    return sum16Small(x0, x1, x2, x3, lowNibbles(q0), lowNibbles(q1), highNibbles(q0), highNibbles(q1));
  }
  const w0 = lookUp(table, lowNibbles(q0));
  const w1 = lookUp(table, lowNibbles(q1));
  const w2 = lookUp(table, highNibbles(q0));
  const w3 = lookUp(table, highNibbles(q1));
  if (codes == L.LARGE) return sum16Large(x0, x1, x2, x3, w0, w1, w2, w3, by);
  return sum16Small(x0, x1, x2, x3, w0, w1, w2, w3);
}

/** Sums over half a group: of 16 bits where weights are below 16, else row sums times `by`: ones, or each row's sub-scale twice. */
@inline
function halfSums(codes: i32, p: usize, x0: v128, x1: v128, x2: v128, x3: v128, table: v128, by: v128): v128 {
  if (codes == L.MEDIUM) {
    return sum16Medium(x0, x1, x2, x3, v128.load(p), v128.load(p + 16), v128.load(p + 32), v128.load(p + 48), by);
  }
  return nibbleSums(codes, p, x0, x1, x2, x3, table, by);
}

/** Row sums of two pairs of signed columns with activations widened to 16 bits. */
@inline
function signedPairs(p: usize, x: usize): v128 {
  const q = v128.load(p);
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(q), v128.load32_splat(x)),
    i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(q), v128.load32_splat(x + 4)),
  );
}

/** Row sums over a group of signed pairs. */
@inline
function signedSums(p: usize, x: usize): v128 {
  let sums = i32x4.add(signedPairs(p, x), signedPairs(p + 16, x + 8));
  sums = i32x4.add(sums, signedPairs(p + 32, x + 16));
  sums = i32x4.add(sums, signedPairs(p + 48, x + 24));
  sums = i32x4.add(sums, signedPairs(p + 64, x + 32));
  sums = i32x4.add(sums, signedPairs(p + 80, x + 40));
  sums = i32x4.add(sums, signedPairs(p + 96, x + 48));
  return i32x4.add(sums, signedPairs(p + 112, x + 56));
}

/** Row sums of a group out of its halves' sums (for eight-bit weights: of the upper nibbles, and `low` of the lower). */
@inline
function groupSums(codes: i32, first: v128, second: v128, low: v128, x: usize): v128 {
  if (codes == L.SIGNED) return first;
  if (codes == L.SMALL) return rowSums(i16x8.add(first, second));
  if (codes == L.LIFTED) return i32x4.add(rowSums(i16x8.add(first, second)), v128.load32_splat(x + X_LIFT));
  if (codes == L.WIDE) {
    const both = i32x4.add(i32x4.dot_i16x8_s(i16x8.add(first, second), i16x8.splat(16)), rowSums(low));
    return i32x4.add(both, i32x4.shl(v128.load32_splat(x + X_LIFT), 4));
  }
  return i32x4.add(first, second);
}

/** What the group whose scale words are at `at` adds to four outputs, out of its sums. */
@inline
function groupProduct(codes: i32, words: i32, at: usize, x: usize, first: v128, second: v128, low: v128, tables: usize): v128 {
  const xScale = v128.load32_splat(x + X_SCALE);
  const own = scaleOf(words, at);
  if (L.splitsGroups(words)) {
    const bias = v128.load(tables + L.HEADER_BIAS);
    const other = secondScaleOf(at);
    const firstOffset = offsetOf(words, at, own, bias);
    const secondOffset = offsetOf(words, at, other, bias);
    const a = f32x4.mul(f32x4.convert_i32x4_s(first), own);
    const b = f32x4.mul(f32x4.convert_i32x4_s(second), other);
    const c = f32x4.mul(f32x4.sub(firstOffset, secondOffset), v128.load32_splat(x + X_FIRST_SUM));
    const d = f32x4.mul(secondOffset, v128.load32_splat(x + X_SUM));
    return f32x4.add(f32x4.mul(f32x4.add(a, b), xScale), f32x4.add(c, d));
  }
  const sums = groupSums(codes, first, second, low, x);
  const product = f32x4.mul(f32x4.convert_i32x4_s(sums), f32x4.mul(own, xScale));
  if (L.isCentered(codes)) return product;
  const shift = offsetOf(words, at, own, v128.load(tables + L.HEADER_BIAS));
  return f32x4.add(product, f32x4.mul(shift, v128.load32_splat(x + X_SUM)));
}

/** The same of a group with sub-scales, in whole numbers: what the super-block's scale is multiplied by. */
@inline
function scaledSums(codes: i32, words: i32, x: usize, first: v128, second: v128, low: v128, by: v128, bySecond: v128): v128 {
  if (codes == L.WIDE) {
    const upper = i32x4.dot_i16x8_s(i16x8.add(first, second), i16x8.shl(by, 4));
    const lifted = i32x4.dot_i16x8_s(v128.load32_splat(x + X_SUMS), i16x8.shl(by, 7));
    return i32x4.sub(i32x4.add(upper, i32x4.dot_i16x8_s(low, by)), lifted);
  }
  if (codes != L.SMALL) return i32x4.add(first, second);
  if (!L.splitsGroups(words)) return i32x4.dot_i16x8_s(i16x8.add(first, second), by);
  return i32x4.add(i32x4.dot_i16x8_s(first, by), i32x4.dot_i16x8_s(second, bySecond));
}

/** The bytes of all records as 16 bits, 64 bytes a group. */
@inline
function widenRecords(x: usize, step: usize, groups: u32, out: usize): void {
  for (let g: u32 = 0; g < groups; g++) {
    v128.store(out, v128.load8x8_s(x));
    v128.store(out + 16, v128.load8x8_s(x + 8));
    v128.store(out + 32, v128.load8x8_s(x + 16));
    v128.store(out + 48, v128.load8x8_s(x + 24));
    x += step;
    out += 64;
  }
}

/**
 * `groups` groups of two quads (at `p` and `apart` bytes on), sharing the loads of activations; adds to the two vectors of
 * sums at `sums`. With sub-scales they are a super-block, and `scales` is its pair of vectors.
 */
@inline
function addGroups(codes: i32, words: i32, p: usize, apart: usize, x: usize, step: usize, wide: usize, groups: u32, tables: usize, scales: usize, sums: usize): void {
  const half = L.codeBytes(codes) / 2;
  const words0 = L.codeBytes(codes);
  const high = v128.load(tables);
  const low = v128.load(tables + L.HEADER_LOW);
  const hasSuper = L.hasSubScales(words);
  const xScale = v128.load32_splat(x + X_SCALE);
  const ones = i16x8.splat(1);
  let a = v128.load(sums);
  let b = v128.load(sums + 16);
  let scaledA = i32x4.splat(0);
  let scaledB = scaledA;
  let shiftedA = scaledA;
  let shiftedB = scaledA;
  for (let g: u32 = 0; g < groups; g++) {
    const q = p + apart;
    const byA = hasSuper ? subScales(p + words0) : ones;
    const byB = hasSuper ? subScales(q + words0) : ones;
    const splitsSuper = hasSuper && L.splitsGroups(words);
    const bySecondA = splitsSuper ? secondSubScales(p + words0) : byA;
    const bySecondB = splitsSuper ? secondSubScales(q + words0) : byB;
    let firstA = high;
    let firstB = high;
    let secondA = high;
    let secondB = high;
    let lowA = high;
    let lowB = high;
    if (codes == L.SIGNED) {
      firstA = signedSums(p, wide);
      firstB = signedSums(q, wide);
    } else {
      let x0 = v128.load32_splat(x);
      let x1 = v128.load32_splat(x + 4);
      let x2 = v128.load32_splat(x + 8);
      let x3 = v128.load32_splat(x + 12);
      firstA = halfSums(codes, p, x0, x1, x2, x3, high, byA);
      firstB = halfSums(codes, q, x0, x1, x2, x3, high, byB);
      if (codes == L.WIDE) {
        lowA = halfSums(codes, p, x0, x1, x2, x3, low, byA);
        lowB = halfSums(codes, q, x0, x1, x2, x3, low, byB);
      }
      x0 = v128.load32_splat(x + 16);
      x1 = v128.load32_splat(x + 20);
      x2 = v128.load32_splat(x + 24);
      x3 = v128.load32_splat(x + 28);
      secondA = halfSums(codes, p + half, x0, x1, x2, x3, high, bySecondA);
      secondB = halfSums(codes, q + half, x0, x1, x2, x3, high, bySecondB);
      if (codes == L.WIDE) {
        lowA = i16x8.add(lowA, halfSums(codes, p + half, x0, x1, x2, x3, low, byA));
        lowB = i16x8.add(lowB, halfSums(codes, q + half, x0, x1, x2, x3, low, byB));
      }
    }
    if (hasSuper) {
      scaledA = i32x4.add(scaledA, scaledSums(codes, words, x, firstA, secondA, lowA, byA, bySecondA));
      scaledB = i32x4.add(scaledB, scaledSums(codes, words, x, firstB, secondB, lowB, byB, bySecondB));
      if (!L.isCentered(codes)) {
        const both = v128.load32_splat(x + X_SUMS);
        shiftedA = i32x4.add(shiftedA, i32x4.dot_i16x8_s(subOffsets(words, p + words0), both));
        shiftedB = i32x4.add(shiftedB, i32x4.dot_i16x8_s(subOffsets(words, q + words0), both));
      }
    } else {
      a = f32x4.add(a, groupProduct(codes, words, p + words0, x, firstA, secondA, lowA, tables));
      b = f32x4.add(b, groupProduct(codes, words, q + words0, x, firstB, secondB, lowB, tables));
    }
    p += L.groupBytes(codes, words);
    x += step;
    wide += 64;
  }
  if (hasSuper) {
    a = f32x4.add(a, superProduct(codes, scales, xScale, scaledA, shiftedA));
    b = f32x4.add(b, superProduct(codes, scales + apart, xScale, scaledB, shiftedB));
  }
  v128.store(sums, a);
  v128.store(sums + 16, b);
}

/**
 * Rows that advance together, eight groups of each pair of quads in turn: eight streams through memory keep more of its
 * requests in flight than one (18 instead of 11 GB/s on one core of a Xeon).
 */
const BAND_ROWS: u32 = 32;
/** Bytes of the sums of a band, in scratch before the widened records. */
const BAND_BYTES: usize = 128;
const TURN_GROUPS: u32 = 8;

/** The rows `begin` to `end` (at most a band). */
@inline
function matVecBand(codes: i32, words: i32, packed: usize, x: usize, step: usize, begin: u32, end: u32, groups: u32, scratch: usize): void {
  const quad = L.quadBytes(codes, words, groups);
  const turn = L.groupBytes(codes, words) * TURN_GROUPS + (L.hasSubScales(words) ? L.SUPER_BYTES : 0);
  const lead = L.hasSubScales(words) ? L.SUPER_BYTES : 0;
  const first = packed + L.HEADER_BYTES + <usize>(begin >> 2) * quad;
  let wide = scratch + BAND_BYTES;
  memory.fill(scratch, 0, BAND_BYTES);
  let offset: usize = 0;
  for (let g: u32 = 0; g < groups; g += TURN_GROUPS) {
    const some = min<u32>(TURN_GROUPS, groups - g);
    let p = first + offset;
    let sums = scratch;
    for (let r = begin; r < end; r += 8) {
      const apart = r + 4 < end ? quad : 0;
      addGroups(codes, words, p + lead, apart, x, step, wide, some, packed, p, sums);
      p += 2 * quad;
      sums += 32;
    }
    offset += turn;
    x += step * TURN_GROUPS;
    wide += 64 * TURN_GROUPS;
  }
}

/**
 * `y[r] = weight[r] · x` for rows `begin` (a multiple of four) to `end`. `x` are records, `lanes` of them interleaved.
 * `scratch` takes 128 bytes and 64 for each group. Quads go in pairs; a last single one is its own partner.
 */
@inline
function matVec(codes: i32, words: i32, packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  const groups = (columns + 31) >> 5;
  const step: usize = RECORD_BYTES * lanes;
  if (codes == L.SIGNED) widenRecords(x, step, groups, scratch + BAND_BYTES);
  for (let r = begin; r < end; r += BAND_ROWS) {
    const last = min<u32>(r + BAND_ROWS, end);
    matVecBand(codes, words, packed, x, step, r, last, groups, scratch);
    for (let row = r; row < last; row += 4) {
      storeOutputs(y + (<usize>row << 2), v128.load(scratch + (<usize>(row - r) << 2)), last - row);
    }
  }
}

/** The `MatVecKernel` of `lifted_half`. */
export function matvec_lifted_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LIFTED, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `small_half_offset`. */
export function matvec_small_half_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.HALF_OFFSET, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `small_sub`. */
export function matvec_small_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `small_sub16`. */
export function matvec_small_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.SUB_16, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `small_sub16_offset`. */
export function matvec_small_sub16_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.SUB_16_OFFSET, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `large_float`. */
export function matvec_large_float(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.FLOAT, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `large_float16`. */
export function matvec_large_float16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.FLOAT_16, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `large_sub`. */
export function matvec_large_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `large_sub16`. */
export function matvec_large_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.SUB_16, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `wide_half`. */
export function matvec_wide_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.WIDE, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `wide_sub`. */
export function matvec_wide_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.WIDE, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `medium_half`. */
export function matvec_medium_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `medium_half_offset`. */
export function matvec_medium_half_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.HALF_OFFSET, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `medium_sub`. */
export function matvec_medium_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `medium_sub16`. */
export function matvec_medium_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.SUB_16, packed, x, y, begin, end, columns, lanes, scratch);
}

/** The `MatVecKernel` of `signed_half`. */
export function matvec_signed_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SIGNED, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

/**
 * A packed weight times one row of quantized activations. Every output is one chain of f32 additions over the groups in their
 * order, the same that `matmat.ts` computes.
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
import { RECORD_BYTES, X_FIRST_SUM, X_LIFT, X_SCALE, X_SUM } from './quantize';
import { offsetOf, scaleOf, secondOffsetOf, secondScaleOf } from './scales';

/** 16-bit sums over half a group of nibbles, as they are or looked up; the weights stay below 16. */
@inline
function nibbleSums(codes: i32, p: usize, x: usize, table: v128): v128 {
  const q0 = v128.load(p);
  const q1 = v128.load(p + 16);
  if (codes == L.SMALL) {
    return sum16Small(x, lowNibbles(q0), lowNibbles(q1), highNibbles(q0), highNibbles(q1));
  }
  return sum16Small(
    x,
    lookUp(table, lowNibbles(q0)),
    lookUp(table, lowNibbles(q1)),
    lookUp(table, highNibbles(q0)),
    lookUp(table, highNibbles(q1)),
  );
}

/** Row sums over half a group. */
@inline
function halfSums(codes: i32, p: usize, x: usize, table: v128): v128 {
  if (codes == L.SMALL) return rowSums(nibbleSums(codes, p, x, table));
  if (codes == L.MEDIUM) {
    return sum16Medium(x, v128.load(p), v128.load(p + 16), v128.load(p + 32), v128.load(p + 48));
  }
  const q0 = v128.load(p);
  const q1 = v128.load(p + 16);
  return sum16Large(
    x,
    lookUp(table, lowNibbles(q0)),
    lookUp(table, lowNibbles(q1)),
    lookUp(table, highNibbles(q0)),
    lookUp(table, highNibbles(q1)),
  );
}

/** Row sums of eight pairs of signed columns with activations widened to 16 bits. */
@inline
function signedSums(p: usize, x: usize): v128 {
  const a = i32x4.add(
    i32x4.dot_i16x8_s(v128.load8x8_s(p), v128.load32_splat(x)),
    i32x4.dot_i16x8_s(v128.load8x8_s(p + 8), v128.load32_splat(x + 4)),
  );
  const b = i32x4.add(
    i32x4.dot_i16x8_s(v128.load8x8_s(p + 16), v128.load32_splat(x + 8)),
    i32x4.dot_i16x8_s(v128.load8x8_s(p + 24), v128.load32_splat(x + 12)),
  );
  const c = i32x4.add(
    i32x4.dot_i16x8_s(v128.load8x8_s(p + 32), v128.load32_splat(x + 16)),
    i32x4.dot_i16x8_s(v128.load8x8_s(p + 40), v128.load32_splat(x + 20)),
  );
  const d = i32x4.add(
    i32x4.dot_i16x8_s(v128.load8x8_s(p + 48), v128.load32_splat(x + 24)),
    i32x4.dot_i16x8_s(v128.load8x8_s(p + 56), v128.load32_splat(x + 28)),
  );
  return i32x4.add(i32x4.add(a, b), i32x4.add(c, d));
}

/** Row sums over a group. `x` is the record, `wide` its bytes as 16 bits (for signed pairs). */
@inline
function groupSums(codes: i32, p: usize, x: usize, wide: usize, high: v128, low: v128): v128 {
  if (codes == L.SIGNED) return i32x4.add(signedSums(p, wide), signedSums(p + 64, wide + 32));
  if (codes == L.SMALL) {
    return rowSums(i16x8.add(nibbleSums(codes, p, x, high), nibbleSums(codes, p + 32, x + 16, high)));
  }
  if (codes == L.WIDE) {
    const upper = i16x8.add(nibbleSums(codes, p, x, high), nibbleSums(codes, p + 32, x + 16, high));
    const lower = i16x8.add(nibbleSums(codes, p, x, low), nibbleSums(codes, p + 32, x + 16, low));
    const both = i32x4.add(i32x4.dot_i16x8_s(upper, i16x8.splat(16)), rowSums(lower));
    return i32x4.add(both, v128.load32_splat(x + X_LIFT));
  }
  const half = L.codeBytes(codes) / 2;
  return i32x4.add(halfSums(codes, p, x, high), halfSums(codes, p + half, x + 16, high));
}

/** What the group at `p` adds to four outputs. */
@inline
function groupProduct(codes: i32, words: i32, p: usize, x: usize, wide: usize, tables: usize, scale: v128, offset: v128): v128 {
  const at = p + L.codeBytes(codes);
  const high = v128.load(tables);
  const xScale = v128.load32_splat(x + X_SCALE);
  const own = scaleOf(words, at, scale);
  if (L.splitsGroups(words)) {
    const half = L.codeBytes(codes) / 2;
    const second = secondScaleOf(words, at, scale);
    const bias = v128.load(tables + L.HEADER_BIAS);
    const firstOffset = offsetOf(words, at, own, offset, bias);
    const secondOffset = secondOffsetOf(words, at, second, offset, bias);
    const a = f32x4.mul(f32x4.convert_i32x4_s(halfSums(codes, p, x, high)), own);
    const b = f32x4.mul(f32x4.convert_i32x4_s(halfSums(codes, p + half, x + 16, high)), second);
    const c = f32x4.mul(f32x4.sub(firstOffset, secondOffset), v128.load32_splat(x + X_FIRST_SUM));
    const d = f32x4.mul(secondOffset, v128.load32_splat(x + X_SUM));
    return f32x4.add(f32x4.mul(f32x4.add(a, b), xScale), f32x4.add(c, d));
  }
  const sums = groupSums(codes, p, x, wide, high, v128.load(tables + L.HEADER_LOW));
  const product = f32x4.mul(f32x4.convert_i32x4_s(sums), f32x4.mul(own, xScale));
  if (codes == L.WIDE || codes == L.SIGNED) return product;
  const shift = offsetOf(words, at, own, offset, v128.load(tables + L.HEADER_BIAS));
  return f32x4.add(product, f32x4.mul(shift, v128.load32_splat(x + X_SUM)));
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
 * `y[r] = weight[r] · x` for rows `begin` (a multiple of four) to `end`. `x` are records, `lanes` of them interleaved.
 * `scratch` takes 64 bytes a group.
 */
@inline
function matVec(codes: i32, words: i32, packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  const groups = (columns + 31) >> 5;
  const step: usize = RECORD_BYTES * lanes;
  if (codes == L.SIGNED) widenRecords(x, step, groups, scratch);
  const zero = f32x4.splat(0);
  for (let r = begin; r < end; r += 4) {
    let p = packed + L.HEADER_BYTES + <usize>(r >> 2) * L.quadBytes(codes, words, groups);
    let record = x;
    let wide = scratch;
    let sum = zero;
    if (L.hasSubScales(words)) {
      for (let s: u32 = 0; s < groups; s += 8) {
        const scale = v128.load(p);
        const offset = v128.load(p + 16);
        p += L.SUPER_BYTES;
        for (let g: u32 = 0; g < 8; g++) {
          sum = f32x4.add(sum, groupProduct(codes, words, p, record, wide, packed, scale, offset));
          p += L.groupBytes(codes, words);
          record += step;
        }
      }
    } else {
      for (let g: u32 = 0; g < groups; g++) {
        sum = f32x4.add(sum, groupProduct(codes, words, p, record, wide, packed, zero, zero));
        p += L.groupBytes(codes, words);
        record += step;
        wide += 64;
      }
    }
    storeOutputs(y + (<usize>r << 2), sum, end - r);
  }
}

export function matvec_small_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_small_half_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.HALF_OFFSET, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_small_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_small_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.SUB_16, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_small_sub16_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SMALL, L.SUB_16_OFFSET, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_large_float(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.FLOAT, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_large_float16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.FLOAT_16, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_large_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_large_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.LARGE, L.SUB_16, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_wide_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.WIDE, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_wide_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.WIDE, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_medium_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_medium_half_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.HALF_OFFSET, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_medium_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.SUB, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_medium_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.MEDIUM, L.SUB_16, packed, x, y, begin, end, columns, lanes, scratch);
}

export function matvec_signed_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, lanes: u32, scratch: usize): void {
  matVec(L.SIGNED, L.HALF, packed, x, y, begin, end, columns, lanes, scratch);
}

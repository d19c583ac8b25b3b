/**
 * Weights in F32, F16 and BF16, multiplied in f32. Rows stand in quads after a header of 64 bytes, as with quantized weights:
 * f32 column by column (four rows each); the 16-bit types in pairs of columns, row r's pair in 32-bit lane r with the even
 * column in its lower half (an odd last column has a zero beside it). Rows beyond the end are zeros. Activations are plain f32
 * rows of `columns` values, one after another.
 *
 * An F16 quad starts with four f32 powers of two: each row is stored multiplied by the largest that keeps it in range, and
 * its products are divided by it again, both without rounding. Rows of ordinary weights so lose their subnormal halves, on
 * which processors multiply a hundred times slower. Infinite and NaN F16 weights are beyond this layout.
 *
 * An output is the sum over the even columns plus the sum over the odd ones, each added up in the order of columns.
 */
import { narrowToHalves, widenFiniteUpper, widenHalfBits, widenHalves } from './half';
import { HEADER_BYTES } from './layout';
import { storeOutputs } from './store';

const F32: i32 = 0;
const F16: i32 = 1;
const BF16: i32 = 2;

/** Columns of a panel. */
const PANEL_COLUMNS: u32 = 512;
const PANEL_BYTES: usize = 512 * 16;

@inline
function pairBytes(type: i32): usize {
  return type == F32 ? 32 : 16;
}

/** Bytes before a quad's columns. */
@inline
function leadBytes(type: i32): usize {
  return type == F16 ? 16 : 0;
}

@inline
function quadBytes(type: i32, columns: u32): usize {
  if (type == F32) return <usize>columns << 4;
  return leadBytes(type) + (<usize>((columns + 1) >> 1) << 4);
}

/** What a row's sums are to be multiplied by. */
@inline
function restored(type: i32, quad: usize, sums: v128): v128 {
  return type == F16 ? f32x4.mul(sums, v128.load(quad)) : sums;
}

/** The even columns of the pairs at `p`. */
@inline
function evenColumn(type: i32, p: usize): v128 {
  if (type == F32) return v128.load(p);
  const even = i32x4.shl(v128.load(p), 16);
  return type == BF16 ? even : widenFiniteUpper(even);
}

/** The odd columns of the pairs at `p`. */
@inline
function oddColumn(type: i32, p: usize): v128 {
  if (type == F32) return v128.load(p + 16);
  const pairs = v128.load(p);
  return type == BF16 ? v128.and(pairs, i32x4.splat(0xffff0000)) : widenFiniteUpper(pairs);
}

/** The largest power of two (up to 2^15) that leaves the halves of a row finite when multiplied by it, as its exponent. */
@inline
function headroom(src: usize, columns: u32): u32 {
  let tops = i16x8.splat(0);
  let c: usize = 0;
  for (; c + 8 <= columns; c += 8) {
    tops = i16x8.max_s(tops, v128.and(v128.load(src + 2 * c), i16x8.splat(0x7fff)));
  }
  let top: u32 = 0;
  for (; c < columns; c++) top = max<u32>(top, <u32>load<u16>(src + 2 * c) & 0x7fff);
  for (let lane = 0; lane < 8; lane++) {
    top = max<u32>(top, i16x8.extract_lane_u(tops, 0));
    tops = i8x16.shuffle(tops, tops, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
  }
  return min<u32>(15, 30 - min<u32>(30, top >> 10));
}

@inline
function powerOfTwo(exponent: i32): f32 {
  return reinterpret<f32>((exponent + 127) << 23);
}

/** Four columns of lane `r`, given in the lower halves of `lanes`, at an even column. */
@inline
function placePairs(at: usize, lanes: v128): void {
  const pairs = i16x8.narrow_i32x4_u(lanes, lanes);
  v128.store32_lane(at, pairs, 0);
  v128.store32_lane(at + 16, pairs, 1);
}

/** One row's elements into lane `r` of its quad. */
@inline
function placeRow(type: i32, src: usize, quad: usize, columns: u32, r: usize): void {
  let at = quad + leadBytes(type) + 4 * r;
  const exponent = type == F16 ? headroom(src, columns) : 0;
  const factor = powerOfTwo(exponent);
  if (type == F16) store<f32>(quad + 4 * r, powerOfTwo(-(<i32>exponent)));
  let c: u32 = 0;
  for (; c + 4 <= columns; c += 4) {
    if (type == F32) {
      const values = v128.load(src);
      v128.store32_lane(at, values, 0);
      v128.store32_lane(at + 16, values, 1);
      v128.store32_lane(at + 32, values, 2);
      v128.store32_lane(at + 48, values, 3);
    } else if (type == F16) {
      placePairs(at, narrowToHalves(f32x4.mul(widenHalves(src), f32x4.splat(factor))));
    } else {
      placePairs(at, v128.load16x4_u(src));
    }
    src += type == F32 ? 16 : 8;
    at += 2 * pairBytes(type);
  }
  for (let odd: usize = 0; c < columns; c++) {
    if (type == F32) {
      store<u32>(at + 16 * odd, load<u32>(src + 4 * odd));
    } else {
      let bits = <u32>load<u16>(src + 2 * odd);
      if (type == F16) bits = i32x4.extract_lane(narrowToHalves(f32x4.splat(widenHalfBits(bits) * factor)), 0);
      store<u16>(at + 16 * (odd >> 1) + 2 * (odd & 1), <u16>bits);
    }
    odd++;
  }
}

@inline
function pack(type: i32, src: usize, packed: usize, firstRow: u32, rows: u32, columns: u32): void {
  memory.fill(packed, 0, HEADER_BYTES);
  const size: usize = type == F32 ? 4 : 2;
  const bytes = quadBytes(type, columns);
  let quad = packed + HEADER_BYTES + <usize>(firstRow >> 2) * bytes;
  for (let r: u32 = 0; r < rows; r += 4) {
    if (rows - r < 4 || (columns & 1) != 0) memory.fill(quad, 0, bytes);
    const some = min<u32>(4, rows - r);
    for (let i: u32 = 0; i < some; i++) {
      placeRow(type, src, quad, columns, i);
      src += size * columns;
    }
    quad += bytes;
  }
}

/** Two quads at a time (a last single one is its own partner): four chains of additions hide each other's latency. */
@inline
function matVec(type: i32, packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32): void {
  const pairs = columns >> 1;
  const quad = quadBytes(type, columns);
  for (let r = begin; r < end; r += 8) {
    const first = packed + HEADER_BYTES + <usize>(r >> 2) * quad;
    let p = first + leadBytes(type);
    const apart = r + 4 < end ? quad : 0;
    let evenA = f32x4.splat(0);
    let oddA = evenA;
    let evenB = evenA;
    let oddB = evenA;
    let at = x;
    for (let c: u32 = 0; c < pairs; c++) {
      const x0 = v128.load32_splat(at);
      const x1 = v128.load32_splat(at + 4);
      evenA = f32x4.add(evenA, f32x4.mul(evenColumn(type, p), x0));
      oddA = f32x4.add(oddA, f32x4.mul(oddColumn(type, p), x1));
      evenB = f32x4.add(evenB, f32x4.mul(evenColumn(type, p + apart), x0));
      oddB = f32x4.add(oddB, f32x4.mul(oddColumn(type, p + apart), x1));
      p += pairBytes(type);
      at += 8;
    }
    if (columns & 1) {
      const last = v128.load32_splat(at);
      evenA = f32x4.add(evenA, f32x4.mul(evenColumn(type, p), last));
      evenB = f32x4.add(evenB, f32x4.mul(evenColumn(type, p + apart), last));
    }
    storeOutputs(y + (<usize>r << 2), restored(type, first, f32x4.add(evenA, oddA)), end - r);
    if (apart) {
      const sums = restored(type, first + apart, f32x4.add(evenB, oddB));
      storeOutputs(y + (<usize>(r + 4) << 2), sums, end - r - 4);
    }
  }
}

/** `columns` columns of a quad as f32 into the panel. */
@inline
function expand(type: i32, p: usize, columns: u32, panel: usize): void {
  for (let c: u32 = 0; c < columns; c += 2) {
    v128.store(panel, evenColumn(type, p));
    if (c + 1 < columns) v128.store(panel + 16, oddColumn(type, p));
    p += pairBytes(type);
    panel += 32;
  }
}

/** Adds `columns` panel columns to the even and odd sums at `acc` (32 bytes a row) of four rows of activations. */
function tile(panel: usize, x0: usize, x1: usize, x2: usize, x3: usize, acc: usize, columns: u32): void {
  let e0 = v128.load(acc);
  let o0 = v128.load(acc + 16);
  let e1 = v128.load(acc + 32);
  let o1 = v128.load(acc + 48);
  let e2 = v128.load(acc + 64);
  let o2 = v128.load(acc + 80);
  let e3 = v128.load(acc + 96);
  let o3 = v128.load(acc + 112);
  let at: usize = 0;
  for (let pair = columns >> 1; pair > 0; pair--) {
    const even = v128.load(panel);
    const odd = v128.load(panel + 16);
    e0 = f32x4.add(e0, f32x4.mul(even, v128.load32_splat(x0 + at)));
    o0 = f32x4.add(o0, f32x4.mul(odd, v128.load32_splat(x0 + at + 4)));
    e1 = f32x4.add(e1, f32x4.mul(even, v128.load32_splat(x1 + at)));
    o1 = f32x4.add(o1, f32x4.mul(odd, v128.load32_splat(x1 + at + 4)));
    e2 = f32x4.add(e2, f32x4.mul(even, v128.load32_splat(x2 + at)));
    o2 = f32x4.add(o2, f32x4.mul(odd, v128.load32_splat(x2 + at + 4)));
    e3 = f32x4.add(e3, f32x4.mul(even, v128.load32_splat(x3 + at)));
    o3 = f32x4.add(o3, f32x4.mul(odd, v128.load32_splat(x3 + at + 4)));
    panel += 32;
    at += 8;
  }
  if (columns & 1) {
    const even = v128.load(panel);
    e0 = f32x4.add(e0, f32x4.mul(even, v128.load32_splat(x0 + at)));
    e1 = f32x4.add(e1, f32x4.mul(even, v128.load32_splat(x1 + at)));
    e2 = f32x4.add(e2, f32x4.mul(even, v128.load32_splat(x2 + at)));
    e3 = f32x4.add(e3, f32x4.mul(even, v128.load32_splat(x3 + at)));
  }
  v128.store(acc, e0);
  v128.store(acc + 16, o0);
  v128.store(acc + 32, e1);
  v128.store(acc + 48, o1);
  v128.store(acc + 64, e2);
  v128.store(acc + 80, o2);
  v128.store(acc + 96, e3);
  v128.store(acc + 112, o3);
}

/** Rows beyond the last are computed from the last one and thrown away. */
@inline
function tileOfRows(panel: usize, x: usize, first: u32, tokens: u32, rowBytes: usize, acc: usize, columns: u32): void {
  const last = tokens - 1;
  const x0 = x + rowBytes * first;
  const x1 = x + rowBytes * min(first + 1, last);
  const x2 = x + rowBytes * min(first + 2, last);
  const x3 = x + rowBytes * min(first + 3, last);
  tile(panel, x0, x1, x2, x3, acc, columns);
}

/** `scratch` takes 8 192 bytes and 32 for each row of activations, their number rounded up to a multiple of four. */
@inline
function matMat(type: i32, packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  const sums = scratch + PANEL_BYTES;
  const rowBytes = <usize>columns << 2;
  for (let r = begin; r < end; r += 4) {
    const quad = packed + HEADER_BYTES + <usize>(r >> 2) * quadBytes(type, columns);
    memory.fill(sums, 0, <usize>((tokens + 3) >> 2) << 7);
    for (let c: u32 = 0; c < columns; c += PANEL_COLUMNS) {
      const some = min<u32>(PANEL_COLUMNS, columns - c);
      expand(type, quad + leadBytes(type) + pairBytes(type) * (c >> 1), some, scratch);
      for (let t: u32 = 0; t < tokens; t += 4) {
        tileOfRows(scratch, x + (<usize>c << 2), t, tokens, rowBytes, sums + (<usize>t << 5), some);
      }
    }
    for (let t: u32 = 0; t < tokens; t++) {
      const at = sums + (<usize>t << 5);
      const sum = restored(type, quad, f32x4.add(v128.load(at), v128.load(at + 16)));
      storeOutputs(y + ((<usize>stride * t + r) << 2), sum, end - r);
    }
  }
}

/** The `PackKernel` of F32. */
export function pack_f32(src: usize, packed: usize, firstRow: u32, rows: u32, columns: u32, _scratch: usize): void {
  pack(F32, src, packed, firstRow, rows, columns);
}

/** The `MatVecKernel` of F32. */
export function matvec_f32(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, _lanes: u32, _scratch: usize): void {
  matVec(F32, packed, x, y, begin, end, columns);
}

/** The `MatMatKernel` of F32. */
export function matmat_f32(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(F32, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `PackKernel` of F16. */
export function pack_f16(src: usize, packed: usize, firstRow: u32, rows: u32, columns: u32, _scratch: usize): void {
  pack(F16, src, packed, firstRow, rows, columns);
}

/** The `MatVecKernel` of F16. */
export function matvec_f16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, _lanes: u32, _scratch: usize): void {
  matVec(F16, packed, x, y, begin, end, columns);
}

/** The `MatMatKernel` of F16. */
export function matmat_f16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(F16, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `PackKernel` of BF16. */
export function pack_bf16(src: usize, packed: usize, firstRow: u32, rows: u32, columns: u32, _scratch: usize): void {
  pack(BF16, src, packed, firstRow, rows, columns);
}

/** The `MatVecKernel` of BF16. */
export function matvec_bf16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, _lanes: u32, _scratch: usize): void {
  matVec(BF16, packed, x, y, begin, end, columns);
}

/** The `MatMatKernel` of BF16. */
export function matmat_bf16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(BF16, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

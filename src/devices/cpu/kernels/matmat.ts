/**
 * A packed weight times many rows of quantized activations. A quad's groups are unpacked into a panel, up to 64 groups at a
 * time so that it stays in the first-level cache; then the rows of activations pass over it, four at a time.
 */
import * as L from './layout';
import { expand } from './panel';
import { storeOutputs } from './store';
import { RECORD_BYTES, TILE_STEP } from './quantize';
import { anyTile } from './tiles';

/** Groups of a panel: a multiple of eight. */
const PANEL_GROUPS: u32 = 64;
const PANEL_BYTES: usize = 64 * 288;

/**
 * `y[t * stride + r] = weight[r] · x[t]` for rows `begin` (a multiple of four) to `end` of the weight and all `tokens` rows
 * of activations, which stand in tiles. `stride` counts f32. `scratch` takes 18 432 bytes and 16 for each
 * row of activations, their number rounded up to a multiple of four.
 */
@inline
function matMat(codes: i32, words: i32, packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  const groups = (columns + 31) >> 5;
  const fours = (tokens + 3) >> 2;
  const tileBytes = TILE_STEP * groups;
  const sums = scratch + PANEL_BYTES;
  for (let r = begin; r < end; r += 4) {
    let p = packed + L.HEADER_BYTES + <usize>(r >> 2) * L.quadBytes(codes, words, groups);
    memory.fill(sums, 0, fours << 6);
    for (let g: u32 = 0; g < groups; g += PANEL_GROUPS) {
      const some = min<u32>(PANEL_GROUPS, groups - g);
      p = expand(codes, words, p, some, scratch, packed);
      for (let t: u32 = 0; t < fours; t++) {
        const records = x + tileBytes * (t >> 2) + 4 * RECORD_BYTES * (t & 3) + TILE_STEP * g;
        anyTile(codes, words, scratch, records, sums + (<usize>t << 6), some);
      }
    }
    for (let t: u32 = 0; t < tokens; t++) {
      storeOutputs(y + ((<usize>stride * t + r) << 2), v128.load(sums + (<usize>t << 4)), end - r);
    }
  }
}

/** The `MatMatKernel` of `lifted_half`. */
export function matmat_lifted_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.LIFTED, L.HALF, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `small_half_offset`. */
export function matmat_small_half_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.SMALL, L.HALF_OFFSET, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `small_sub`. */
export function matmat_small_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.SMALL, L.SUB, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `small_sub16`. */
export function matmat_small_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.SMALL, L.SUB_16, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `small_sub16_offset`. */
export function matmat_small_sub16_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.SMALL, L.SUB_16_OFFSET, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `large_float`. */
export function matmat_large_float(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.LARGE, L.FLOAT, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `large_float16`. */
export function matmat_large_float16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.LARGE, L.FLOAT_16, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `large_sub`. */
export function matmat_large_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.LARGE, L.SUB, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `large_sub16`. */
export function matmat_large_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.LARGE, L.SUB_16, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `wide_half`. */
export function matmat_wide_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.WIDE, L.HALF, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `wide_sub`. */
export function matmat_wide_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.WIDE, L.SUB, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `medium_half`. */
export function matmat_medium_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.MEDIUM, L.HALF, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `medium_half_offset`. */
export function matmat_medium_half_offset(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.MEDIUM, L.HALF_OFFSET, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `medium_sub`. */
export function matmat_medium_sub(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.MEDIUM, L.SUB, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `medium_sub16`. */
export function matmat_medium_sub16(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.MEDIUM, L.SUB_16, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/** The `MatMatKernel` of `signed_half`. */
export function matmat_signed_half(packed: usize, x: usize, y: usize, begin: u32, end: u32, columns: u32, tokens: u32, stride: u32, scratch: usize): void {
  matMat(L.SIGNED, L.HALF, packed, x, y, begin, end, columns, tokens, stride, scratch);
}

/**
 * Four rows of activations of a tile that pass over a panel. Sums are the same, in the same order, as in `matvec.ts`.
 */
import { dotPairs, rowSums, sum16Large, sum16Medium, sum16Small } from './dot';
import * as L from './layout';
import { isEightBit, panelBytes } from './panel';
import { RECORD_BYTES, TILE_STEP, X_FIRST_SUM, X_LIFT, X_SCALE, X_SUM, X_SUMS } from './quantize';
import { superProduct } from './scales';

/** From the first record of four to the others. */
const ROW_1: usize = RECORD_BYTES;
const ROW_2: usize = 2 * RECORD_BYTES;
const ROW_3: usize = 3 * RECORD_BYTES;

@inline
function smallSums(x: usize, w0: v128, w1: v128, w2: v128, w3: v128): v128 {
  return sum16Small(v128.load32_splat(x), v128.load32_splat(x + 4), v128.load32_splat(x + 8), v128.load32_splat(x + 12), w0, w1, w2, w3);
}
@inline
function mediumSums(x: usize, w0: v128, w1: v128, w2: v128, w3: v128, by: v128): v128 {
  return sum16Medium(v128.load32_splat(x), v128.load32_splat(x + 4), v128.load32_splat(x + 8), v128.load32_splat(x + 12), w0, w1, w2, w3, by);
}
@inline
function largeSums(x: usize, w0: v128, w1: v128, w2: v128, w3: v128, by: v128): v128 {
  return sum16Large(v128.load32_splat(x), v128.load32_splat(x + 4), v128.load32_splat(x + 8), v128.load32_splat(x + 12), w0, w1, w2, w3, by);
}

/** `sum + weights * x`, in 16 bits. */
@inline
function more(sum: v128, x: usize, weights: v128): v128 {
  return i16x8.add(sum, dotPairs(v128.load32_splat(x), weights));
}

/** A group's row sums as products. */
@inline
function product(sums: v128, x: usize, scale: v128, offset: v128): v128 {
  const scaled = f32x4.mul(f32x4.convert_i32x4_s(sums), f32x4.mul(scale, v128.load32_splat(x + X_SCALE)));
  return f32x4.add(scaled, f32x4.mul(offset, v128.load32_splat(x + X_SUM)));
}

/** The same for weights that were lifted by 8. */
@inline
function liftedProduct(sums: v128, x: usize, scale: v128): v128 {
  const centered = i32x4.add(sums, v128.load32_splat(x + X_LIFT));
  return f32x4.mul(f32x4.convert_i32x4_s(centered), f32x4.mul(scale, v128.load32_splat(x + X_SCALE)));
}

/** What a group's sums of activations add to a super-block's `M` (see `layout.ts`). */
@inline
function shifted(x: usize, offsets: v128): v128 {
  return i32x4.dot_i16x8_s(offsets, v128.load32_splat(x + X_SUMS));
}

/** Adds what a super-block makes of the row of activations whose scale is at `x` to four outputs at `acc`. */
@inline
function addSuper(codes: i32, acc: usize, scales: usize, x: usize, scaled: v128, shifts: v128): void {
  v128.store(acc, f32x4.add(v128.load(acc), superProduct(codes, scales, v128.load32_splat(x + X_SCALE), scaled, shifts)));
}

/** The same for the four rows of activations of a tile, the first of whose last records is at `x`. */
@inline
function addSupers(codes: i32, acc: usize, scales: usize, x: usize, a0: v128, a1: v128, a2: v128, a3: v128, m0: v128, m1: v128, m2: v128, m3: v128): void {
  addSuper(codes, acc, scales, x, a0, m0);
  addSuper(codes, acc + 16, scales, x + ROW_1, a1, m1);
  addSuper(codes, acc + 32, scales, x + ROW_2, a2, m2);
  addSuper(codes, acc + 48, scales, x + ROW_3, a3, m3);
}

/**
 * Adds `groups` panel groups, or with sub-scales a super-block, to the four sums (a vector of four outputs for each row of the tile) at
 * `acc`. With sub-scales, `a0` to `a3` and `m0` to `m3` are whole numbers.
 */
@inline
function nibbleTile(lifted: bool, hasSub: bool, panel: usize, x: usize, acc: usize, groups: u32): void {
  const scales = panel;
  if (hasSub) panel += L.SUPER_BYTES;
  let m0 = i32x4.splat(0);
  let m1 = m0;
  let m2 = m0;
  let m3 = m0;
  let a0 = hasSub ? m0 : v128.load(acc);
  let a1 = hasSub ? m0 : v128.load(acc + 16);
  let a2 = hasSub ? m0 : v128.load(acc + 32);
  let a3 = hasSub ? m0 : v128.load(acc + 48);
  for (let g: u32 = 0; g < groups; g++) {
    let w = v128.load(panel);
    let s0 = dotPairs(v128.load32_splat(x), w);
    let s1 = dotPairs(v128.load32_splat(x + ROW_1), w);
    let s2 = dotPairs(v128.load32_splat(x + ROW_2), w);
    let s3 = dotPairs(v128.load32_splat(x + ROW_3), w);
    w = v128.load(panel + 16);
    s0 = more(s0, x + 4, w);
    s1 = more(s1, x + ROW_1 + 4, w);
    s2 = more(s2, x + ROW_2 + 4, w);
    s3 = more(s3, x + ROW_3 + 4, w);
    w = v128.load(panel + 32);
    s0 = more(s0, x + 8, w);
    s1 = more(s1, x + ROW_1 + 8, w);
    s2 = more(s2, x + ROW_2 + 8, w);
    s3 = more(s3, x + ROW_3 + 8, w);
    w = v128.load(panel + 48);
    s0 = more(s0, x + 12, w);
    s1 = more(s1, x + ROW_1 + 12, w);
    s2 = more(s2, x + ROW_2 + 12, w);
    s3 = more(s3, x + ROW_3 + 12, w);
    w = v128.load(panel + 64);
    s0 = more(s0, x + 16, w);
    s1 = more(s1, x + ROW_1 + 16, w);
    s2 = more(s2, x + ROW_2 + 16, w);
    s3 = more(s3, x + ROW_3 + 16, w);
    w = v128.load(panel + 80);
    s0 = more(s0, x + 20, w);
    s1 = more(s1, x + ROW_1 + 20, w);
    s2 = more(s2, x + ROW_2 + 20, w);
    s3 = more(s3, x + ROW_3 + 20, w);
    w = v128.load(panel + 96);
    s0 = more(s0, x + 24, w);
    s1 = more(s1, x + ROW_1 + 24, w);
    s2 = more(s2, x + ROW_2 + 24, w);
    s3 = more(s3, x + ROW_3 + 24, w);
    w = v128.load(panel + 112);
    s0 = more(s0, x + 28, w);
    s1 = more(s1, x + ROW_1 + 28, w);
    s2 = more(s2, x + ROW_2 + 28, w);
    s3 = more(s3, x + ROW_3 + 28, w);
    const scale = v128.load(panel + 128);
    const offset = lifted ? scale : v128.load(panel + 144);
    if (hasSub) {
      a0 = i32x4.add(a0, i32x4.dot_i16x8_s(s0, scale));
      a1 = i32x4.add(a1, i32x4.dot_i16x8_s(s1, scale));
      a2 = i32x4.add(a2, i32x4.dot_i16x8_s(s2, scale));
      a3 = i32x4.add(a3, i32x4.dot_i16x8_s(s3, scale));
      m0 = i32x4.add(m0, shifted(x, offset));
      m1 = i32x4.add(m1, shifted(x + ROW_1, offset));
      m2 = i32x4.add(m2, shifted(x + ROW_2, offset));
      m3 = i32x4.add(m3, shifted(x + ROW_3, offset));
    } else {
      a0 = f32x4.add(a0, nibbleProduct(lifted, s0, x, scale, offset));
      a1 = f32x4.add(a1, nibbleProduct(lifted, s1, x + ROW_1, scale, offset));
      a2 = f32x4.add(a2, nibbleProduct(lifted, s2, x + ROW_2, scale, offset));
      a3 = f32x4.add(a3, nibbleProduct(lifted, s3, x + ROW_3, scale, offset));
    }
    panel += 160;
    x += TILE_STEP;
  }
  if (hasSub) {
    addSupers(L.SMALL, acc, scales, x - TILE_STEP, a0, a1, a2, a3, m0, m1, m2, m3);
    return;
  }
  v128.store(acc, a0);
  v128.store(acc + 16, a1);
  v128.store(acc + 32, a2);
  v128.store(acc + 48, a3);
}

/** What a panel group adds for the row of activations whose record is at `x`. */
@inline
function panelProduct(codes: i32, x: usize, scale: v128, offset: v128, w0: v128, w1: v128, w2: v128, w3: v128, w4: v128, w5: v128, w6: v128, w7: v128): v128 {
  const ones = i16x8.splat(1);
  return product(groupSums(codes, x, w0, w1, w2, w3, w4, w5, w6, w7, ones, ones), x, scale, offset);
}

/** A group's row sums, those of its first half times `by`, of the second times `bySecond`. */
@inline
function groupSums(codes: i32, x: usize, w0: v128, w1: v128, w2: v128, w3: v128, w4: v128, w5: v128, w6: v128, w7: v128, by: v128, bySecond: v128): v128 {
  return i32x4.add(halfSums(codes, x, w0, w1, w2, w3, by), halfSums(codes, x + 16, w4, w5, w6, w7, bySecond));
}

@inline
function halfSums(codes: i32, x: usize, w0: v128, w1: v128, w2: v128, w3: v128, by: v128): v128 {
  if (codes == L.SMALL) return i32x4.dot_i16x8_s(smallSums(x, w0, w1, w2, w3), by);
  if (codes == L.MEDIUM) return mediumSums(x, w0, w1, w2, w3, by);
  return largeSums(x, w0, w1, w2, w3, by);
}

@inline
function nibbleProduct(lifted: bool, sums: v128, x: usize, scale: v128, offset: v128): v128 {
  return lifted ? liftedProduct(rowSums(sums), x, scale) : product(rowSums(sums), x, scale, offset);
}

/** The same for larger weights. */
@inline
function tile(codes: i32, panel: usize, x: usize, acc: usize, groups: u32): void {
  let a0 = v128.load(acc);
  let a1 = v128.load(acc + 16);
  let a2 = v128.load(acc + 32);
  let a3 = v128.load(acc + 48);
  for (let g: u32 = 0; g < groups; g++) {
    const w0 = v128.load(panel);
    const w1 = v128.load(panel + 16);
    const w2 = v128.load(panel + 32);
    const w3 = v128.load(panel + 48);
    const w4 = v128.load(panel + 64);
    const w5 = v128.load(panel + 80);
    const w6 = v128.load(panel + 96);
    const w7 = v128.load(panel + 112);
    const scale = v128.load(panel + 128);
    const offset = v128.load(panel + 144);
    a0 = f32x4.add(a0, panelProduct(codes, x, scale, offset, w0, w1, w2, w3, w4, w5, w6, w7));
    a1 = f32x4.add(a1, panelProduct(codes, x + RECORD_BYTES, scale, offset, w0, w1, w2, w3, w4, w5, w6, w7));
    a2 = f32x4.add(a2, panelProduct(codes, x + 2 * RECORD_BYTES, scale, offset, w0, w1, w2, w3, w4, w5, w6, w7));
    a3 = f32x4.add(a3, panelProduct(codes, x + 3 * RECORD_BYTES, scale, offset, w0, w1, w2, w3, w4, w5, w6, w7));
    panel += 160;
    x += TILE_STEP;
  }
  v128.store(acc, a0);
  v128.store(acc + 16, a1);
  v128.store(acc + 32, a2);
  v128.store(acc + 48, a3);
}

/** The same for a super-block. */
@inline
function superTile(codes: i32, words: i32, panel: usize, x: usize, acc: usize): void {
  const scales = panel;
  panel += L.SUPER_BYTES;
  let m0 = i32x4.splat(0);
  let m1 = m0;
  let m2 = m0;
  let m3 = m0;
  let a0 = m0;
  let a1 = m0;
  let a2 = m0;
  let a3 = m0;
  for (let g: u32 = 0; g < 8; g++) {
    const w0 = v128.load(panel);
    const w1 = v128.load(panel + 16);
    const w2 = v128.load(panel + 32);
    const w3 = v128.load(panel + 48);
    const w4 = v128.load(panel + 64);
    const w5 = v128.load(panel + 80);
    const w6 = v128.load(panel + 96);
    const w7 = v128.load(panel + 112);
    const by = v128.load(panel + 128);
    const bySecond = L.splitsGroups(words) ? v128.load(panel + 160) : by;
    a0 = i32x4.add(a0, groupSums(codes, x, w0, w1, w2, w3, w4, w5, w6, w7, by, bySecond));
    a1 = i32x4.add(a1, groupSums(codes, x + ROW_1, w0, w1, w2, w3, w4, w5, w6, w7, by, bySecond));
    a2 = i32x4.add(a2, groupSums(codes, x + ROW_2, w0, w1, w2, w3, w4, w5, w6, w7, by, bySecond));
    a3 = i32x4.add(a3, groupSums(codes, x + ROW_3, w0, w1, w2, w3, w4, w5, w6, w7, by, bySecond));
    const offset = v128.load(panel + 144);
    m0 = i32x4.add(m0, shifted(x, offset));
    m1 = i32x4.add(m1, shifted(x + ROW_1, offset));
    m2 = i32x4.add(m2, shifted(x + ROW_2, offset));
    m3 = i32x4.add(m3, shifted(x + ROW_3, offset));
    panel += L.splitsGroups(words) ? 176 : 160;
    x += TILE_STEP;
  }
  addSupers(codes, acc, scales, x - TILE_STEP, a0, a1, a2, a3, m0, m1, m2, m3);
}

/** A half's row sums. */
@inline
function largeHalf(x: usize, p: usize): v128 {
  return largeSums(x, v128.load(p), v128.load(p + 16), v128.load(p + 32), v128.load(p + 48), i16x8.splat(1));
}

/** The same as `panelProduct` for groups whose halves have scales of their own. */
@inline
function splitProduct(x: usize, panel: usize): v128 {
  const a = f32x4.mul(f32x4.convert_i32x4_s(largeHalf(x, panel)), v128.load(panel + 128));
  const b = f32x4.mul(f32x4.convert_i32x4_s(largeHalf(x + 16, panel + 64)), v128.load(panel + 144));
  const c = f32x4.mul(v128.load(panel + 160), v128.load32_splat(x + X_FIRST_SUM));
  const d = f32x4.mul(v128.load(panel + 176), v128.load32_splat(x + X_SUM));
  return f32x4.add(f32x4.mul(f32x4.add(a, b), v128.load32_splat(x + X_SCALE)), f32x4.add(c, d));
}

function splitTile(panel: usize, x: usize, acc: usize, groups: u32): void {
  let a0 = v128.load(acc);
  let a1 = v128.load(acc + 16);
  let a2 = v128.load(acc + 32);
  let a3 = v128.load(acc + 48);
  for (let g: u32 = 0; g < groups; g++) {
    a0 = f32x4.add(a0, splitProduct(x, panel));
    a1 = f32x4.add(a1, splitProduct(x + RECORD_BYTES, panel));
    a2 = f32x4.add(a2, splitProduct(x + 2 * RECORD_BYTES, panel));
    a3 = f32x4.add(a3, splitProduct(x + 3 * RECORD_BYTES, panel));
    panel += 192;
    x += TILE_STEP;
  }
  v128.store(acc, a0);
  v128.store(acc + 16, a1);
  v128.store(acc + 32, a2);
  v128.store(acc + 48, a3);
}

/** Upper and lower sums as products of eight-bit weights that were lifted by 128. */
@inline
function eightBitProduct(upper: v128, lower: v128, x: usize, scale: v128): v128 {
  const both = i32x4.add(i32x4.dot_i16x8_s(upper, i16x8.splat(16)), rowSums(lower));
  const sums = i32x4.add(both, i32x4.shl(v128.load32_splat(x + X_LIFT), 4));
  return f32x4.mul(f32x4.convert_i32x4_s(sums), f32x4.mul(scale, v128.load32_splat(x + X_SCALE)));
}

/** The same times the group's sub-scales, in whole numbers. */
@inline
function eightBitSums(upper: v128, lower: v128, x: usize, by: v128): v128 {
  const both = i32x4.add(i32x4.dot_i16x8_s(upper, i16x8.shl(by, 4)), i32x4.dot_i16x8_s(lower, by));
  return i32x4.sub(both, i32x4.dot_i16x8_s(v128.load32_splat(x + X_SUMS), i16x8.shl(by, 7)));
}

/** Adds `groups` panel groups, or with sub-scales a super-block, to the four sums at `acc`. */
@inline
function eightBitTile(hasSub: bool, panel: usize, x: usize, acc: usize, groups: u32): void {
  const scales = panel;
  if (hasSub) panel += L.SUPER_BYTES;
  let a0 = i32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  for (let g: u32 = 0; g < groups; g++) {
    let u0 = i16x8.splat(0);
    let u1 = u0;
    let u2 = u0;
    let u3 = u0;
    let l0 = u0;
    let l1 = u0;
    let l2 = u0;
    let l3 = u0;
    for (let v: usize = 0; v < 32; v += 4) {
      const upper = v128.load(panel + 4 * v);
      const lower = v128.load(panel + 4 * v + 128);
      const x0 = v128.load32_splat(x + v);
      u0 = i16x8.add(u0, dotPairs(x0, upper));
      l0 = i16x8.add(l0, dotPairs(x0, lower));
      const x1 = v128.load32_splat(x + v + RECORD_BYTES);
      u1 = i16x8.add(u1, dotPairs(x1, upper));
      l1 = i16x8.add(l1, dotPairs(x1, lower));
      const x2 = v128.load32_splat(x + v + 2 * RECORD_BYTES);
      u2 = i16x8.add(u2, dotPairs(x2, upper));
      l2 = i16x8.add(l2, dotPairs(x2, lower));
      const x3 = v128.load32_splat(x + v + 3 * RECORD_BYTES);
      u3 = i16x8.add(u3, dotPairs(x3, upper));
      l3 = i16x8.add(l3, dotPairs(x3, lower));
    }
    const scale = v128.load(panel + 256);
    if (hasSub) {
      a0 = i32x4.add(a0, eightBitSums(u0, l0, x, scale));
      a1 = i32x4.add(a1, eightBitSums(u1, l1, x + ROW_1, scale));
      a2 = i32x4.add(a2, eightBitSums(u2, l2, x + ROW_2, scale));
      a3 = i32x4.add(a3, eightBitSums(u3, l3, x + ROW_3, scale));
    } else {
      v128.store(acc, f32x4.add(v128.load(acc), eightBitProduct(u0, l0, x, scale)));
      v128.store(acc + 16, f32x4.add(v128.load(acc + 16), eightBitProduct(u1, l1, x + RECORD_BYTES, scale)));
      v128.store(acc + 32, f32x4.add(v128.load(acc + 32), eightBitProduct(u2, l2, x + 2 * RECORD_BYTES, scale)));
      v128.store(acc + 48, f32x4.add(v128.load(acc + 48), eightBitProduct(u3, l3, x + 3 * RECORD_BYTES, scale)));
    }
    panel += 272;
    x += TILE_STEP;
  }
  if (hasSub) addSupers(L.WIDE, acc, scales, x - TILE_STEP, a0, a1, a2, a3, a0, a1, a2, a3);
}

/** Each kind of tile is compiled once. */
function liftedTile(panel: usize, x: usize, acc: usize, groups: u32): void {
  nibbleTile(true, false, panel, x, acc, groups);
}
function smallTile(panel: usize, x: usize, acc: usize, groups: u32): void {
  nibbleTile(false, false, panel, x, acc, groups);
}
function mediumTile(panel: usize, x: usize, acc: usize, groups: u32): void {
  tile(L.MEDIUM, panel, x, acc, groups);
}
function largeTile(panel: usize, x: usize, acc: usize, groups: u32): void {
  tile(L.LARGE, panel, x, acc, groups);
}
function wideTile(panel: usize, x: usize, acc: usize, groups: u32): void {
  eightBitTile(false, panel, x, acc, groups);
}
function smallSuper(panel: usize, x: usize, acc: usize): void {
  nibbleTile(false, true, panel, x, acc, 8);
}
function mediumSuper(panel: usize, x: usize, acc: usize): void {
  superTile(L.MEDIUM, L.SUB, panel, x, acc);
}
function largeSuper(panel: usize, x: usize, acc: usize): void {
  superTile(L.LARGE, L.SUB, panel, x, acc);
}
function wideSuper(panel: usize, x: usize, acc: usize): void {
  eightBitTile(true, panel, x, acc, 8);
}
function smallSplitSuper(panel: usize, x: usize, acc: usize): void {
  superTile(L.SMALL, L.SUB_16, panel, x, acc);
}
function mediumSplitSuper(panel: usize, x: usize, acc: usize): void {
  superTile(L.MEDIUM, L.SUB_16, panel, x, acc);
}
function largeSplitSuper(panel: usize, x: usize, acc: usize): void {
  superTile(L.LARGE, L.SUB_16, panel, x, acc);
}

/** Adds a super-block to the sums of a tile, by the kind of weights. */
@inline
function anySuper(codes: i32, words: i32, panel: usize, x: usize, acc: usize): void {
  if (L.splitsGroups(words)) {
    if (codes == L.SMALL) smallSplitSuper(panel, x, acc);
    else if (codes == L.MEDIUM) mediumSplitSuper(panel, x, acc);
    else largeSplitSuper(panel, x, acc);
  } else if (codes == L.SMALL) smallSuper(panel, x, acc);
  else if (codes == L.MEDIUM) mediumSuper(panel, x, acc);
  else if (codes == L.WIDE) wideSuper(panel, x, acc);
  else largeSuper(panel, x, acc);
}

/** Adds `groups` panel groups to the sums of a tile, by the kind of weights. */
@inline
export function anyTile(codes: i32, words: i32, panel: usize, x: usize, acc: usize, groups: u32): void {
  if (L.hasSubScales(words)) {
    const superBytes = L.SUPER_BYTES + 8 * panelBytes(codes, words);
    for (let g: u32 = 0; g < groups; g += 8) {
      anySuper(codes, words, panel, x, acc);
      panel += superBytes;
      x += 8 * TILE_STEP;
    }
  } else if (isEightBit(codes)) wideTile(panel, x, acc, groups);
  else if (L.splitsGroups(words)) splitTile(panel, x, acc, groups);
  else if (codes == L.LIFTED) liftedTile(panel, x, acc, groups);
  else if (codes == L.SMALL) smallTile(panel, x, acc, groups);
  else if (codes == L.MEDIUM) mediumTile(panel, x, acc, groups);
  else largeTile(panel, x, acc, groups);
}

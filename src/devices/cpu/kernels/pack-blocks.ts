/** File blocks into the layouts of `layout.ts`. A chunk starts at a row that is a multiple of four. */
import { CANONICAL_BYTES, OFFSET, SCALE, SUB_OFFSETS, SUB_SCALES } from './canonical';
import * as F from './formats';
import * as L from './layout';

@inline
function looksUp(codes: i32): bool {
  return codes == L.LARGE || codes == L.WIDE;
}

/** What stored codes are above the values. */
@inline
function biasOf(format: i32, codes: i32): i32 {
  return looksUp(codes) ? F.levelBias(format) : F.codeBias(format);
}

/** Writes the header; every chunk of a weight writes the same. */
@inline
function writeHeader(format: i32, codes: i32, packed: usize): void {
  const bias = biasOf(format, codes);
  let high = i32x4.splat(0);
  let low = i32x4.splat(0);
  if (looksUp(codes)) {
    const values = i8x16.add(v128.load(F.levels(format)), i8x16.splat(<i8>bias));
    high = values;
    if (codes == L.WIDE) {
      high = v128.and(i16x8.shr_u(values, 4), i8x16.splat(15));
      low = v128.and(values, i8x16.splat(15));
    }
  }
  v128.store(packed, high);
  v128.store(packed + L.HEADER_LOW, low);
  v128.store(packed + L.HEADER_BIAS, f32x4.splat(<f32>-bias));
  v128.store(packed + 48, i32x4.splat(0));
}

/** 16 numbers below 16 as eight bytes: the first eight in the low nibbles. */
@inline
function joinNibbles(q: v128): v128 {
  const upper = i8x16.shuffle(q, q, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
  return v128.or(q, i16x8.shl(upper, 4));
}

@inline
function placeNibbles(q: v128, at: usize): void {
  const both = joinNibbles(q);
  v128.store32_lane(at, both, 0);
  v128.store32_lane(at + 16, both, 1);
}

/** The upper bits of 32 codes of a row. */
@inline
function placeUpperBits(codes: i32, first: v128, second: v128, at: usize): void {
  const low = joinNibbles(v128.and(i16x8.shr_u(first, 4), i8x16.splat(15)));
  const high = joinNibbles(v128.and(i16x8.shr_u(second, 4), i8x16.splat(15)));
  const both = v128.or(low, i16x8.shl(high, 2));
  if (codes == L.FIVE) {
    store<i32>(at, i32x4.extract_lane(both, 0) | (i32x4.extract_lane(both, 1) << 1));
  } else {
    v128.store32_lane(at, both, 0);
    v128.store32_lane(at + 16, both, 1);
  }
}

/** The codes of 16 columns of row `r` into half `half` of a group. */
@inline
function placeCodes(codes: i32, q: v128, group: usize, half: usize, r: usize): void {
  if (codes <= L.WIDE) {
    placeNibbles(q, group + 32 * half + 4 * r);
  } else if (codes == L.FIVE || codes == L.SIX) {
    placeNibbles(v128.and(q, i8x16.splat(15)), group + 32 * half + 4 * r);
  } else if (codes == L.MEDIUM) {
    const at = group + 64 * half + 4 * r;
    v128.store32_lane(at, q, 0);
    v128.store32_lane(at + 16, q, 1);
    v128.store32_lane(at + 32, q, 2);
    v128.store32_lane(at + 48, q, 3);
  } else {
    const at = group + 64 * half + 2 * r;
    v128.store16_lane(at, q, 0);
    v128.store16_lane(at + 8, q, 1);
    v128.store16_lane(at + 16, q, 2);
    v128.store16_lane(at + 24, q, 3);
    v128.store16_lane(at + 32, q, 4);
    v128.store16_lane(at + 40, q, 5);
    v128.store16_lane(at + 48, q, 6);
    v128.store16_lane(at + 56, q, 7);
  }
}

/** What the four rows' `scale` and `offset` are before sub-scales; `src` is the row's block, or 0 for a padding row. */
@inline
function placeSuper(format: i32, codes: i32, words: i32, src: usize, t: usize, at: usize, r: usize): void {
  if (words >= L.HALF_SUB) {
    store<u16>(at + 2 * r, src == 0 ? 0 : load<u16>(src + F.halfAt(format)));
    if (F.hasOffset(format)) store<u16>(at + 8 + 2 * r, src == 0 ? 0 : load<u16>(src + F.minAt(format)) ^ 0x8000);
    return;
  }
  const scale = load<f32>(t + SCALE);
  store<f32>(at + 4 * r, <f32>F.codeStep(format) * scale);
  store<f32>(at + 16 + 4 * r, F.hasOffset(format) ? load<f32>(t + OFFSET) : scale * <f32>-biasOf(format, codes));
}

/** The sub-scales of canonical group `g` of row `r` (for `SUB` with a constant bias the sub-scale is the sub-offset too). */
@inline
function placeSubScales(format: i32, words: i32, t: usize, g: usize, at: usize, r: usize): void {
  const own = L.groupWords(words);
  const scales = t + SUB_SCALES + 2 * g;
  const offsets = t + SUB_OFFSETS + 2 * g;
  store<u8>(at + r, load<u8>(scales));
  if (own == L.SUB) {
    store<u8>(at + 4 + r, F.hasOffset(format) ? load<u8>(offsets) : load<u8>(scales));
    return;
  }
  store<u8>(at + 4 + r, load<u8>(scales + 1));
  if (own == L.SUB_16_OFFSET) {
    store<u8>(at + 8 + r, load<u8>(offsets));
    store<u8>(at + 12 + r, load<u8>(offsets + 1));
  }
}

/** The scale words of group `g` of row `r`; `src` is the row's block, or 0 for a padding row. */
@inline
function placeWords(format: i32, words: i32, src: usize, t: usize, g: usize, at: usize, r: usize): void {
  if (L.hasSubScales(words)) {
    placeSubScales(format, words, t, g, at, r);
  } else if (words == L.FLOAT) {
    store<f32>(at + 4 * r, load<f32>(t + SCALE));
  } else if (words == L.FLOAT_16) {
    store<f32>(at + 4 * r, src == 0 ? 0 : F.smallFloat(format, src, 2 * <u32>g));
    store<f32>(at + 16 + 4 * r, src == 0 ? 0 : F.smallFloat(format, src, 2 * <u32>g + 1));
  } else {
    store<u16>(at + 2 * r, src == 0 ? 0 : load<u16>(src + F.halfAt(format)));
    if (words == L.HALF_OFFSET) store<u16>(at + 8 + 2 * r, src == 0 ? 0 : load<u16>(src + F.minAt(format)));
  }
}

/** One block of four rows: `src` the block of the first row, `stride` bytes to the next, `rows` of them there. */
@inline
function packBlocks(format: i32, codes: i32, words: i32, src: usize, stride: usize, rows: u32, at: usize, t: usize): void {
  const groups: usize = F.blockColumns(format) / 32;
  const base = at + L.superBytes(words);
  for (let r: usize = 0; r < 4; r++) {
    const present = r < rows;
    const block = src + r * stride;
    if (present) F.unpack(format, block, t);
    else memory.fill(t, 0, CANONICAL_BYTES);
    if (L.hasSubScales(words)) placeSuper(format, codes, words, present ? block : 0, t, at, r);
    for (let g: usize = 0; g < groups; g++) {
      const group = base + g * L.groupBytes(codes, words);
      const first = v128.load(t + 32 * g);
      const second = v128.load(t + 32 * g + 16);
      placeCodes(codes, first, group, 0, r);
      placeCodes(codes, second, group, 1, r);
      if (codes == L.FIVE || codes == L.SIX) placeUpperBits(codes, first, second, group + L.NIBBLE_BYTES + 4 * r);
      placeWords(format, words, present ? block : 0, t, g, group + L.codeBytes(codes), r);
    }
  }
}

/** Packs rows of blocks as `PackKernel` says. */
@inline
export function pack(format: i32, codes: i32, words: i32, src: usize, packed: usize, firstRow: u32, rows: u32, columns: u32, t: usize): void {
  writeHeader(format, codes, packed);
  const blocks = columns / F.blockColumns(format);
  const rowBytes = <usize>blocks * F.blockBytes(format);
  const groups: u32 = F.blockColumns(format) / 32;
  let out = packed + L.HEADER_BYTES + <usize>(firstRow >> 2) * L.quadBytes(codes, words, columns >> 5);
  for (let r: u32 = 0; r < rows; r += 4) {
    const left = rows - r;
    for (let b: u32 = 0; b < blocks; b++) {
      packBlocks(format, codes, words, src + <usize>b * F.blockBytes(format), rowBytes, left, out, t);
      out += L.groupBytes(codes, words) * groups + L.superBytes(words);
    }
    src += rowBytes * 4;
  }
}

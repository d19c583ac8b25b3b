/**
 * How quantized weights lie in memory for multiplication.
 *
 * A packed weight is a header of 64 bytes, then its *quads*: four rows side by side, rows padded to a multiple of four with
 * zeros. A quad is a row of *groups* of 32 columns; with sub-scales, eight groups follow a pair of vectors (`scale` of the four
 * rows, `offset` of the four rows, f32). A group is its codes, then its scale words, which name a scale (and an offset) for
 * each of the four rows:
 *
 * | codes | bytes | order |
 * |---|---|---|
 * | `NIBBLES` | 64 | for each half (16 columns): 2 vectors; byte 4r + i of vector v holds row r, column 4v + i (low nibble) and 8 + 4v + i (high) |
 * | `FIVES` | 80 | the lower four bits as `NIBBLES`; then a vector of upper ones: byte 4r + i has them in bit v for the low nibbles of vector v, in bit 4 + v for the high ones |
 * | `SIXES` | 96 | the lower four bits as `NIBBLES`; then two vectors of upper ones: byte 4r + i of vector v % 2 has them from bit v / 2 * 2 on for the low nibbles of vector v, 4 bits on for the high ones |
 * | `BYTES` | 128 | 8 vectors; byte 4r + i of vector v holds row r, column 4v + i |
 * | `PAIRS` | 128 | 16 pairs of columns; bytes 2r, 2r + 1 of pair p hold row r, columns 2p, 2p + 1, signed |
 *
 * | scale words | bytes | meaning (r = row) |
 * |---|---|---|
 * | `HALF` | 8 | f16 scale[r]; offset = -bias * scale |
 * | `HALF_OFFSET` | 16 | f16 scale[r], f16 offset[r] |
 * | `FLOAT` | 16 | f32 scale[r]; offset = -bias * scale |
 * | `FLOAT_16` | 32 | the same for each half of the group |
 * | `SUB` | 8 | i8 sub-scale[r], i8 sub-offset[r], of `scale` and `offset` |
 * | `SUB_16` | 8 | i8 sub-scale[r] of the first half, of the second half, of `scale` and `offset` |
 * | `SUB_16_OFFSET` | 16 | i8 sub-scales of both halves, i8 sub-offsets of both halves |
 * | `HALF_SUB`, `HALF_SUB_16`, `HALF_SUB_16_OFFSET` | 8, 8, 16 | the same; the vectors before eight groups are f16, and `HALF_SUB_16` has no `offset`, which is -bias * scale |
 *
 * The header: 16 bytes that codes are looked up in (`value + bias`, or its upper nibble), 16 bytes of the lower nibbles where
 * a value takes eight bits, and f32 `-bias` four times. A product is
 * `sum over groups of scale * xs * sum(code * x) + offset * xs * sum(x)`. With sub-scales it is a sum over super-blocks, whose
 * activations share `xs`: `scale * xs * S + offset * xs * M` with whole numbers `S`, the sum over groups of
 * `sub-scale * sum(code * x)`, and `M`, that of `sub-offset * sum(x)`, which fit into 32 bits in every format.
 */
export const HEADER_BYTES: usize = 64;
export const HEADER_LOW: usize = 16;
export const HEADER_BIAS: usize = 32;

/** How codes become the weights of a dot product. */
export const SMALL: i32 = 0; // nibbles as they are
export const LIFTED: i32 = 1; // nibbles less 8
export const LARGE: i32 = 2; // nibbles looked up: 0 .. 127
export const WIDE: i32 = 3; // nibbles looked up: 0 .. 255, as two nibbles, less 128
export const MEDIUM: i32 = 4; // bytes 0 .. 63
export const SIGNED: i32 = 5; // pairs of signed bytes
// For native kernels alone: these ones take longer to put such codes together than to read whole bytes.
export const FIVE: i32 = 6; // fives as they are
export const SIX: i32 = 7; // sixes as they are

/** True where codes stand for the weights themselves, without an offset: constants are taken off in integers. */
@inline
export function isCentered(codes: i32): bool {
  return codes == LIFTED || codes == WIDE || codes == SIGNED;
}

/** Scale words. */
export const HALF: i32 = 0;
export const HALF_OFFSET: i32 = 1;
export const FLOAT: i32 = 2;
export const FLOAT_16: i32 = 3;
export const SUB: i32 = 4;
export const SUB_16: i32 = 5;
export const SUB_16_OFFSET: i32 = 6;
// For native kernels alone.
export const HALF_SUB: i32 = 7;
export const HALF_SUB_16: i32 = 8;
export const HALF_SUB_16_OFFSET: i32 = 9;

/** Scale words without regard to what is before eight groups. */
@inline
export function groupWords(words: i32): i32 {
  return words >= HALF_SUB ? words - HALF_SUB + SUB : words;
}

/** Bytes of a group's nibbles; the upper bits of fives and sixes are behind them. */
export const NIBBLE_BYTES: usize = 64;

@inline
export function codeBytes(codes: i32): usize {
  if (codes == FIVE) return NIBBLE_BYTES + 16;
  if (codes == SIX) return NIBBLE_BYTES + 32;
  return codes <= WIDE ? NIBBLE_BYTES : 128;
}

@inline
export function wordBytes(words: i32): usize {
  const own = groupWords(words);
  if (own == HALF || own == SUB || own == SUB_16) return 8;
  return own == FLOAT_16 ? 32 : 16;
}

@inline
export function hasSubScales(words: i32): bool {
  return words >= SUB;
}

/** True where the two halves of a group have scales of their own. */
@inline
export function splitsGroups(words: i32): bool {
  const own = groupWords(words);
  return own == FLOAT_16 || own == SUB_16 || own == SUB_16_OFFSET;
}

/** Bytes before eight groups. */
export const SUPER_BYTES: usize = 32;

/** The same for any words. */
@inline
export function superBytes(words: i32): usize {
  if (words == HALF_SUB_16) return 8;
  if (words >= HALF_SUB) return 16;
  return hasSubScales(words) ? SUPER_BYTES : 0;
}

@inline
export function groupBytes(codes: i32, words: i32): usize {
  return codeBytes(codes) + wordBytes(words);
}

/** Bytes of a quad of `groups` groups. */
@inline
export function quadBytes(codes: i32, words: i32, groups: u32): usize {
  return groupBytes(codes, words) * groups + superBytes(words) * (groups >> 3);
}

/**
 * A quad's groups unpacked for many rows of activations. A panel group holds 128 bytes of codes (8 vectors in the order of
 * `BYTES`; 256 where a weight takes eight bits: upper nibbles, lower nibbles), then its scales and offsets, or its sub-scales and
 * sub-offsets in 16 bits. With sub-scales, a super-block's pair of vectors stands before its eight groups.
 */
import { highNibbles, lookUp, lowNibbles } from './dot';
import * as L from './layout';
import { offsetOf, scaleOf, secondScaleOf, secondSubScales, subOffsets, subScales } from './scales';

/** True where a panel holds weights as two planes of nibbles. */
@inline
export function isEightBit(codes: i32): bool {
  return codes == L.WIDE || codes == L.SIGNED;
}

/** Bytes of a panel group. */
@inline
export function panelBytes(codes: i32, words: i32): usize {
  if (isEightBit(codes)) return 272;
  if (!L.splitsGroups(words)) return 160;
  return L.hasSubScales(words) ? 176 : 192;
}

@inline
function expandNibbles(p: usize, panel: usize, table: v128, looked: bool): void {
  for (let half: usize = 0; half < 2; half++) {
    const q0 = v128.load(p + 32 * half);
    const q1 = v128.load(p + 32 * half + 16);
    const at = panel + 64 * half;
    v128.store(at, looked ? lookUp(table, lowNibbles(q0)) : lowNibbles(q0));
    v128.store(at + 16, looked ? lookUp(table, lowNibbles(q1)) : lowNibbles(q1));
    v128.store(at + 32, looked ? lookUp(table, highNibbles(q0)) : highNibbles(q0));
    v128.store(at + 48, looked ? lookUp(table, highNibbles(q1)) : highNibbles(q1));
  }
}

/** Two vectors of signed pairs as four columns a row, made non-negative, in nibbles. */
@inline
function expandSigned(p: usize, panel: usize): void {
  for (let v: usize = 0; v < 8; v++) {
    const pairs = v128.load(p + 16 * v);
    const q = v128.xor(
      i8x16.shuffle(pairs, pairs, 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15),
      i8x16.splat(-128),
    );
    v128.store(panel + 16 * v, highNibbles(q));
    v128.store(panel + 128 + 16 * v, lowNibbles(q));
  }
}

/** Scales and offsets of the group whose scale words are at `at`. */
@inline
function expandScales(codes: i32, words: i32, at: usize, panel: usize, tables: usize): void {
  const own = scaleOf(words, at);
  v128.store(panel, own);
  if (L.isCentered(codes)) return;
  const bias = v128.load(tables + L.HEADER_BIAS);
  const first = offsetOf(words, at, own, bias);
  if (!L.splitsGroups(words)) {
    v128.store(panel + 16, first);
    return;
  }
  const second = secondScaleOf(at);
  const secondOffset = offsetOf(words, at, second, bias);
  v128.store(panel + 16, second);
  v128.store(panel + 32, f32x4.sub(first, secondOffset));
  v128.store(panel + 48, secondOffset);
}

/** Its sub-scales and sub-offsets. */
@inline
function expandSubScales(codes: i32, words: i32, at: usize, panel: usize): void {
  v128.store(panel, subScales(at));
  if (L.isCentered(codes)) return;
  v128.store(panel + 16, subOffsets(words, at));
  if (L.splitsGroups(words)) v128.store(panel + 32, secondSubScales(at));
}

/** A group's codes and scales into the panel. */
@inline
function expandGroup(codes: i32, words: i32, p: usize, panel: usize, tables: usize): void {
  if (codes == L.MEDIUM) memory.copy(panel, p, 128);
  else if (codes == L.SIGNED) expandSigned(p, panel);
  else expandNibbles(p, panel, v128.load(tables), codes == L.LARGE || codes == L.WIDE);
  if (codes == L.WIDE) expandNibbles(p, panel + 128, v128.load(tables + L.HEADER_LOW), true);
  const at = p + L.codeBytes(codes);
  const scales = panel + (isEightBit(codes) ? 256 : 128);
  if (L.hasSubScales(words)) expandSubScales(codes, words, at, scales);
  else expandScales(codes, words, at, scales, tables);
}

/** `groups` groups from `p` on into the panel; gives the address after them. */
@inline
export function expand(codes: i32, words: i32, p: usize, groups: u32, panel: usize, tables: usize): usize {
  for (let g: u32 = 0; g < groups; g++) {
    if (L.hasSubScales(words) && (g & 7) == 0) {
      memory.copy(panel, p, L.SUPER_BYTES);
      p += L.SUPER_BYTES;
      panel += L.SUPER_BYTES;
    }
    expandGroup(codes, words, p, panel, tables);
    p += L.groupBytes(codes, words);
    panel += panelBytes(codes, words);
  }
  return p;
}


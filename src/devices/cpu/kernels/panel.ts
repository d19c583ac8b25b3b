/**
 * A quad's groups unpacked for many rows of activations. A panel group holds 128 bytes of codes (8 vectors in the order of
 * `BYTES`; 256 where a weight takes eight bits: upper nibbles, lower nibbles), then its scales and offsets.
 */
import { highNibbles, lookUp, lowNibbles } from './dot';
import * as L from './layout';
import { offsetOf, scaleOf, secondOffsetOf, secondScaleOf } from './scales';

/** True where a panel holds weights as two planes of nibbles. */
@inline
export function isEightBit(codes: i32): bool {
  return codes == L.WIDE || codes == L.SIGNED;
}

@inline
function panelBytes(codes: i32, words: i32): usize {
  if (isEightBit(codes)) return 272;
  return L.splitsGroups(words) ? 192 : 160;
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

/** A group's codes and scales into the panel. */
@inline
function expandGroup(codes: i32, words: i32, p: usize, panel: usize, tables: usize, scale: v128, offset: v128): void {
  if (codes == L.MEDIUM) memory.copy(panel, p, 128);
  else if (codes == L.SIGNED) expandSigned(p, panel);
  else expandNibbles(p, panel, v128.load(tables), codes == L.LARGE || codes == L.WIDE);
  if (codes == L.WIDE) expandNibbles(p, panel + 128, v128.load(tables + L.HEADER_LOW), true);
  const at = p + L.codeBytes(codes);
  const own = scaleOf(words, at, scale);
  if (isEightBit(codes)) {
    v128.store(panel + 256, own);
    return;
  }
  const bias = v128.load(tables + L.HEADER_BIAS);
  const first = offsetOf(words, at, own, offset, bias);
  v128.store(panel + 128, own);
  if (codes == L.LIFTED) return;
  if (!L.splitsGroups(words)) {
    v128.store(panel + 144, first);
    return;
  }
  const second = secondScaleOf(words, at, scale);
  const secondOffset = secondOffsetOf(words, at, second, offset, bias);
  v128.store(panel + 144, second);
  v128.store(panel + 160, f32x4.sub(first, secondOffset));
  v128.store(panel + 176, secondOffset);
}

/** `groups` groups from `p` on into the panel; gives the address after them. */
@inline
export function expand(codes: i32, words: i32, p: usize, groups: u32, panel: usize, tables: usize): usize {
  let scale = f32x4.splat(0);
  let offset = scale;
  for (let g: u32 = 0; g < groups; g++) {
    if (L.hasSubScales(words) && (g & 7) == 0) {
      scale = v128.load(p);
      offset = v128.load(p + 16);
      p += L.SUPER_BYTES;
    }
    expandGroup(codes, words, p, panel, tables, scale, offset);
    p += L.groupBytes(codes, words);
    panel += panelBytes(codes, words);
  }
  return p;
}


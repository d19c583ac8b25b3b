/**
 * What the kernels know about each quantized format. Everything here takes the format as a constant, is inlined, and folds
 * to the one case.
 */
import {
  unpackMxfp4,
  unpackNvfp4,
  unpackQ4_0,
  unpackQ4_1,
  unpackQ5_0,
  unpackQ5_1,
  unpackQ8_0,
} from './simple';
import { unpackQ2_K, unpackQ3_K, unpackQ4_K, unpackQ5_K, unpackQ6_K } from './k-quants';
import { unpackIq2S, unpackIq2Xs, unpackIq2Xxs } from './iq2';
import { unpackIq3S, unpackIq3Xxs } from './iq3';
import { unpackIq1M, unpackIq1S } from './iq1';
import { unpackIq4Xs, unpackTq1, unpackTq2 } from './iq4-ternary';

export const Q4_0: i32 = 0;
export const Q4_1: i32 = 1;
export const Q5_0: i32 = 2;
export const Q5_1: i32 = 3;
export const Q8_0: i32 = 4;
export const MXFP4: i32 = 5;
export const NVFP4: i32 = 6;
export const IQ4_NL: i32 = 7;
export const Q2_K: i32 = 8;
export const Q3_K: i32 = 9;
export const Q4_K: i32 = 10;
export const Q5_K: i32 = 11;
export const Q6_K: i32 = 12;
export const IQ2_XXS: i32 = 13;
export const IQ2_XS: i32 = 14;
export const IQ2_S: i32 = 15;
export const IQ3_XXS: i32 = 16;
export const IQ3_S: i32 = 17;
export const IQ1_S: i32 = 18;
export const IQ1_M: i32 = 19;
export const IQ4_XS: i32 = 20;
export const TQ1_0: i32 = 21;
export const TQ2_0: i32 = 22;

/** Columns of a block. */
@inline
export function blockColumns(format: i32): u32 {
  return format == NVFP4 ? 64 : format < Q2_K ? 32 : 256;
}

/** Bytes of a block in the file. */
@inline
export function blockBytes(format: i32): usize {
  return <usize>load<u8>(BLOCK_BYTES + format);
}

const BLOCK_BYTES: usize = memory.data<u8>([
  18, 20, 22, 24, 34, 17, 36, 18, 84, 110, 144, 176, 210, 66, 74, 82, 98, 110, 50, 56, 136, 54, 66,
]);

/** Takes the block at `src` apart into the canonical block at `t`. */
@inline
export function unpack(format: i32, src: usize, t: usize): void {
  if (format == Q4_0 || format == IQ4_NL) unpackQ4_0(src, t);
  else if (format == Q4_1) unpackQ4_1(src, t);
  else if (format == Q5_0) unpackQ5_0(src, t);
  else if (format == Q5_1) unpackQ5_1(src, t);
  else if (format == Q8_0) unpackQ8_0(src, t);
  else if (format == MXFP4) unpackMxfp4(src, t);
  else if (format == NVFP4) unpackNvfp4(src, t);
  else if (format == Q2_K) unpackQ2_K(src, t);
  else if (format == Q3_K) unpackQ3_K(src, t);
  else if (format == Q4_K) unpackQ4_K(src, t);
  else if (format == Q5_K) unpackQ5_K(src, t);
  else if (format == Q6_K) unpackQ6_K(src, t);
  else if (format == IQ2_XXS) unpackIq2Xxs(src, t);
  else if (format == IQ2_XS) unpackIq2Xs(src, t);
  else if (format == IQ2_S) unpackIq2S(src, t);
  else if (format == IQ3_XXS) unpackIq3Xxs(src, t);
  else if (format == IQ3_S) unpackIq3S(src, t);
  else if (format == IQ1_S) unpackIq1S(src, t);
  else if (format == IQ1_M) unpackIq1M(src, t);
  else if (format == IQ4_XS) unpackIq4Xs(src, t);
  else if (format == TQ1_0) unpackTq1(src, t);
  else unpackTq2(src, t);
}

/** True where a weight is `scale * q + offset` with an offset of its own, rather than a constant less. */
@inline
export function hasOffset(format: i32): bool {
  return format == Q4_1 || format == Q5_1 || format == Q2_K || format == Q4_K || format == Q5_K;
}

/** What is taken off a code, for formats whose value is the code less a constant. */
@inline
export function codeBias(format: i32): i32 {
  if (format == Q4_0) return 8;
  if (format == Q5_0) return 16;
  if (format == Q3_K) return 4;
  if (format == Q6_K) return 32;
  if (format == TQ1_0 || format == TQ2_0) return 1;
  return 0;
}

/** True where a code is a number in `levels`. */
@inline
export function hasLevels(format: i32): bool {
  return levels(format) != 0;
}

const IQ4_LEVELS: usize = memory.data<i8>([
  -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
]);
/** E2M1 doubled. */
const FP4_LEVELS: usize = memory.data<i8>([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]);
const IQ2_LEVELS: usize = memory.data<i8>([8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43, 0, 0, 0, 0, 0]);
const IQ3_LEVELS: usize = memory.data<i8>([4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62]);
const ODD_LEVELS: usize = memory.data<i8>([-15, -13, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 13, 15]);
const IQ1_LEVELS: usize = memory.data<i8>([-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7, 0, 0, 0, 0, 0]);

/** The 16 signed values that codes stand for, or 0. */
@inline
export function levels(format: i32): usize {
  if (format == IQ4_NL || format == IQ4_XS) return IQ4_LEVELS;
  if (format == MXFP4 || format == NVFP4) return FP4_LEVELS;
  if (format == IQ2_XXS || format == IQ2_XS || format == IQ2_S) return IQ2_LEVELS;
  if (format == IQ3_XXS) return IQ3_LEVELS;
  if (format == IQ3_S) return ODD_LEVELS;
  if (format == IQ1_S || format == IQ1_M) return IQ1_LEVELS;
  return 0;
}

/** Blocks of every quantized format to f32, bit for bit as the scalar decoders of `src/formats`. */
import { OFFSET, SCALE, SUB_OFFSETS, SUB_SCALES } from './canonical';
import * as F from './formats/index';
import { nvfp4Scale } from './formats/simple';
import { widen, widenHalf } from './half';

/** `out[i] = values[i] * scale (+ offset)` for 16 signed bytes. */
@inline
function emit16(out: usize, values: v128, scale: v128, offset: v128, withOffset: bool): void {
  const low = i16x8.extend_low_i8x16_s(values);
  const high = i16x8.extend_high_i8x16_s(values);
  emit4(out, i32x4.extend_low_i16x8_s(low), scale, offset, withOffset);
  emit4(out + 16, i32x4.extend_high_i16x8_s(low), scale, offset, withOffset);
  emit4(out + 32, i32x4.extend_low_i16x8_s(high), scale, offset, withOffset);
  emit4(out + 48, i32x4.extend_high_i16x8_s(high), scale, offset, withOffset);
}

@inline
function emit4(out: usize, values: v128, scale: v128, offset: v128, withOffset: bool): void {
  const product = f32x4.mul(f32x4.convert_i32x4_s(values), scale);
  v128.store(out, withOffset ? f32x4.add(product, offset) : product);
}

/** The signed values of 16 codes. */
@inline
function valuesOf(format: i32, codes: v128): v128 {
  if (F.hasLevels(format)) return i8x16.swizzle(v128.load(F.levels(format)), codes);
  return i8x16.sub(codes, i8x16.splat(<i8>F.codeBias(format)));
}

@inline
function decodeBlocks(format: i32, src: usize, out: usize, blocks: u32, scratch: usize): void {
  const columns = F.blockColumns(format);
  for (let b: u32 = 0; b < blocks; b++) {
    F.unpack(format, src, scratch);
    for (let part: usize = 0; part < columns / 16; part++) {
      let scale = load<f32>(scratch + SCALE);
      let offset = load<f32>(scratch + OFFSET);
      if (format == F.NVFP4) scale = nvfp4Scale(load<u8>(src + part));
      if (columns == 256) {
        scale *= <f32>load<i8>(scratch + SUB_SCALES + part);
        offset *= <f32>load<i8>(scratch + SUB_OFFSETS + part);
      }
      const values = valuesOf(format, v128.load(scratch + 16 * part));
      emit16(out + 64 * part, values, f32x4.splat(scale), f32x4.splat(offset), F.hasOffset(format));
    }
    src += F.blockBytes(format);
    out += columns << 2;
  }
}

/** Q4_0 without the canonical block in between: the most common format, and the loader's yardstick. */
export function decode_q4_0(src: usize, out: usize, blocks: u32, _scratch: usize): void {
  for (let b: u32 = 0; b < blocks; b++) {
    const q = v128.load(src + 2);
    const scale = f32x4.splat(widenHalf(src));
    const low = i8x16.sub(v128.and(q, i8x16.splat(15)), i8x16.splat(8));
    const high = i8x16.sub(v128.and(i16x8.shr_u(q, 4), i8x16.splat(15)), i8x16.splat(8));
    emit16(out, low, scale, scale, false);
    emit16(out + 64, high, scale, scale, false);
    src += 18;
    out += 128;
  }
}

/** The `DecodeKernel` of Q8_0. */
export function decode_q8_0(src: usize, out: usize, blocks: u32, _scratch: usize): void {
  for (let b: u32 = 0; b < blocks; b++) {
    const scale = f32x4.splat(widenHalf(src));
    emit16(out, v128.load(src + 2), scale, scale, false);
    emit16(out + 64, v128.load(src + 18), scale, scale, false);
    src += 34;
    out += 128;
  }
}

/** The `DecodeKernel` of F32. */
export function decode_f32(src: usize, out: usize, n: u32, _scratch: usize): void {
  memory.copy(out, src, <usize>n << 2);
}

/** The `DecodeKernel` of F16. */
export function decode_f16(src: usize, out: usize, n: u32, _scratch: usize): void {
  widen(src, out, n);
}

/** The `DecodeKernel` of BF16. */
export function decode_bf16(src: usize, out: usize, n: u32, _scratch: usize): void {
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) v128.store(out + 4 * i, i32x4.shl(v128.load16x4_u(src + 2 * i), 16));
  for (; i < n; i++) store<u32>(out + 4 * i, <u32>load<u16>(src + 2 * i) << 16);
}

/** The `DecodeKernel` of Q4_1. */
export function decode_q4_1(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q4_1, src, out, blocks, scratch);
}

/** The `DecodeKernel` of Q5_0. */
export function decode_q5_0(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q5_0, src, out, blocks, scratch);
}

/** The `DecodeKernel` of Q5_1. */
export function decode_q5_1(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q5_1, src, out, blocks, scratch);
}

/** The `DecodeKernel` of MXFP4. */
export function decode_mxfp4(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.MXFP4, src, out, blocks, scratch);
}

/** The `DecodeKernel` of NVFP4. */
export function decode_nvfp4(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.NVFP4, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ4_NL. */
export function decode_iq4_nl(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ4_NL, src, out, blocks, scratch);
}

/** The `DecodeKernel` of Q2_K. */
export function decode_q2_k(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q2_K, src, out, blocks, scratch);
}

/** The `DecodeKernel` of Q3_K. */
export function decode_q3_k(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q3_K, src, out, blocks, scratch);
}

/** The `DecodeKernel` of Q4_K. */
export function decode_q4_k(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q4_K, src, out, blocks, scratch);
}

/** The `DecodeKernel` of Q5_K. */
export function decode_q5_k(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q5_K, src, out, blocks, scratch);
}

/** The `DecodeKernel` of Q6_K. */
export function decode_q6_k(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.Q6_K, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ2_XXS. */
export function decode_iq2_xxs(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ2_XXS, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ2_XS. */
export function decode_iq2_xs(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ2_XS, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ2_S. */
export function decode_iq2_s(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ2_S, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ3_XXS. */
export function decode_iq3_xxs(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ3_XXS, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ3_S. */
export function decode_iq3_s(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ3_S, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ1_S. */
export function decode_iq1_s(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ1_S, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ1_M. */
export function decode_iq1_m(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ1_M, src, out, blocks, scratch);
}

/** The `DecodeKernel` of IQ4_XS. */
export function decode_iq4_xs(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.IQ4_XS, src, out, blocks, scratch);
}

/** The `DecodeKernel` of TQ1_0. */
export function decode_tq1_0(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.TQ1_0, src, out, blocks, scratch);
}

/** The `DecodeKernel` of TQ2_0. */
export function decode_tq2_0(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.TQ2_0, src, out, blocks, scratch);
}

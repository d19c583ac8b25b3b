/** Blocks of every quantized format to f32, bit for bit as the scalar decoders of `src/formats`. */
import { OFFSET, SCALE, SUB_OFFSETS, SUB_SCALES } from './canonical';
import * as F from './formats';

/** `out[i] = values[i] * scale (+ offset)` for 16 signed bytes. */
@inline
export function emit16(out: usize, values: v128, scale: v128, offset: v128, withOffset: bool): void {
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
  if (F.levels(format) != 0) return i8x16.swizzle(v128.load(F.levels(format)), codes);
  const numbers = F.codeStep(format) == 2 ? i8x16.add(codes, codes) : codes;
  return i8x16.sub(numbers, i8x16.splat(<i8>F.codeBias(format)));
}

/** Decodes whole blocks; `scratch` takes a canonical one. */
@inline
export function decodeBlocks(format: i32, src: usize, out: usize, blocks: u32, scratch: usize): void {
  const columns = F.blockColumns(format);
  for (let b: u32 = 0; b < blocks; b++) {
    F.unpack(format, src, scratch);
    for (let part: usize = 0; part < columns / 16; part++) {
      let scale = load<f32>(scratch + SCALE);
      let offset = load<f32>(scratch + OFFSET);
      if (F.hasSmallFloats(format)) scale = F.smallFloat(format, src, <u32>part);
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

/** Decoding kernels of plain numbers, and of two formats without the canonical block in between. */
import { emit16 } from './decode-blocks';
import { widen, widenHalf } from './half';

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

import { alignUp } from '../base/bytes.ts';
import { Q8_0 } from '../formats/q8-0.ts';

/** Elements of a row that share a scale in a state of type `q8_0`; head sizes are multiples of it. */
export const STATE_BLOCK = 32;

/** The layout of a state of type `q8_0`, in bytes from its start. */
export interface StateBlockPlanes {
  /** Offset of the scales. */
  readonly scales: number;
  /** Bytes of the scales of a row. */
  readonly scaleBytes: number;
  readonly byteLength: number;
}

/**
 * A state of type `q8_0` is two planes: first the quants, signed bytes, `width` per row; then all scales, f16, one for
 * each `STATE_BLOCK` elements, padded to a 32-bit word. So blocks of quants start at multiples of 32 bytes, and one
 * block number addresses both quants and scale.
 */
export function stateBlockPlanes(rows: number, width: number): StateBlockPlanes {
  const scales = rows * width;
  const scaleBytes = (2 * width) / STATE_BLOCK;
  return { scales, scaleBytes, byteLength: alignUp(scales + rows * scaleBytes, 4) };
}

const INFINITE_HALF = 0x7c00;
const NAN_HALF = 0x7e00;

/**
 * Quantizes a block like ggml's `quantize_row_q8_0_ref`: `d = max|x| / 127` in f32, `quant = round(x * (1 / d))`,
 * rounding ties away from zero, and the scale is `d` rounded to f16. Returns the scale's bits, and writes 32 signed
 * bytes to `quants`. Two cases are defined here so that they do not depend on a device's arithmetic: if the scale
 * rounds to zero, the quants are zero; and a block with a NaN, an infinity or a scale beyond f16 becomes zeros with a
 * NaN scale (0x7e00). `values` are 32 f32.
 */
export function quantizeStateBlock(values: Float32Array, quants: Int8Array): number {
  const block = new Uint8Array(Q8_0.blockBytes);
  Q8_0.encode?.(values, 0, block, 0, 1);
  const scale = (block[0] as number) | ((block[1] as number) << 8);
  if (scale >= INFINITE_HALF || !values.every(Number.isFinite)) {
    quants.fill(0);
    return NAN_HALF;
  }
  if (scale > 0) quants.set(new Int8Array(block.buffer, 2));
  else quants.fill(0);
  return scale;
}

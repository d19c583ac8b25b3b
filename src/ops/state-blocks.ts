import { alignUp } from '../base/bytes.ts';
import { Q8_0 } from '../formats/q8-0.ts';

/** Elements of a row that share a scale in a state of type `q8_0`; heads are whole numbers of them. */
export const STATE_BLOCK = 32;

/** Where things are in a state of type `q8_0`, in bytes from its start. */
export interface StateBlockPlanes {
  /** Where the scales begin. */
  readonly scales: number;
  /** Of the scales of a row. */
  readonly scaleBytes: number;
  readonly byteLength: number;
}

/**
 * A state of type `q8_0` is two planes: the quants, signed bytes, `width` a row; behind them all the scales, half floats, one
 * for each `STATE_BLOCK` elements, and room up to a whole 32-bit word. So blocks of quants begin at multiples of 32 bytes, and
 * a block has one number, by which both its quants and its scale are found.
 */
export function stateBlockPlanes(rows: number, width: number): StateBlockPlanes {
  const scales = rows * width;
  const scaleBytes = (2 * width) / STATE_BLOCK;
  return { scales, scaleBytes, byteLength: alignUp(scales + rows * scaleBytes, 4) };
}

const INFINITE_HALF = 0x7c00;
const NAN_HALF = 0x7e00;

/**
 * Quantizes a block as ggml's `quantize_row_q8_0_ref`: `d = max|x| / 127` in f32, `quant = round(x * (1 / d))` with halves away
 * from zero, and the scale is `d` rounded to a half. Gives the scale's bits, and in `quants` 32 signed bytes. Two kinds of
 * blocks are not left to what a device's arithmetic makes of them: where the scale rounds to zero, quants are zero, and a
 * block with a NaN, an infinity or a scale beyond the halves is zeros under a scale of NaN (0x7e00). `values` are 32 f32.
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

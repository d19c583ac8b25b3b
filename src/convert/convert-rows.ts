import { fail } from '../base/errors.ts';
import { floatToHalf, halfToFloat } from '../base/half.ts';
import { F16, F32, MXFP4, type TensorFormat } from '../formats/index.ts';
import { encodeRows } from '../quantize/encode-rows.ts';
import type { TensorPiece } from './convert-tensors.ts';

/** Where rows go. */
interface RowTarget {
  readonly tensor: string;
  readonly format: TensorFormat;
  /** The number of the first element, for messages. */
  readonly firstElement: number;
}

/**
 * Whole rows in the order of the file, as they are in the file. Throws `WEIGHTS_NOT_FINITE`, or `CONVERT_UNSUPPORTED` for numbers
 * that are too large for f16.
 */
export function convertRows(rows: Uint8Array, piece: TensorPiece, target: RowTarget): Uint8Array {
  const { columns, value, stored } = piece;
  const from = value ? F32 : stored.format;
  const bytes = value ? changed(rows, stored.format, value) : rows;
  if (from === target.format) return bytes;
  const { tensor, format, firstElement } = target;
  const encoded = encodeRows({ tensor, bytes, columns, firstElement }, { from, to: format });
  if (format === F16) checkHalves(encoded, target);
  return encoded;
}

/**
 * Blocks of MXFP4 of sixteen bytes, each two neighbours, and their scales as ggml has them: the scale, then bytes of two elements
 * that are sixteen apart.
 */
export function packMxfp4(blocks: Uint8Array, scales: Uint8Array): Uint8Array {
  const half = MXFP4.blockElements / 2;
  const packed = new Uint8Array(scales.length * MXFP4.blockBytes);
  const element = (block: number, i: number) => {
    const pair = blocks[block * half + (i >> 1)] ?? 0;
    return i % 2 === 0 ? pair & 15 : pair >> 4;
  };
  for (const [block, scale] of scales.entries()) {
    const at = block * MXFP4.blockBytes;
    packed[at] = scale;
    for (let i = 0; i < half; i++) packed[at + 1 + i] = element(block, i) | (element(block, i + half) << 4);
  }
  return packed;
}

/** Results as f32; of halves rounded to halves, as PyTorch computes them. */
function changed(bytes: Uint8Array, format: TensorFormat, value: (value: number) => number): Uint8Array {
  const values = new Float32Array(bytes.byteLength / format.blockBytes);
  format.decode(bytes, 0, values, 0, values.length);
  for (const [i, stored] of values.entries()) {
    values[i] = format === F16 ? halfToFloat(floatToHalf(value(stored))) : value(stored);
  }
  return new Uint8Array(values.buffer);
}

const INFINITE_HALF = 0x7c00;

/** What was finite before must not have become infinite. */
function checkHalves(bytes: Uint8Array, { tensor, firstElement }: RowTarget): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.byteLength; at += 2) {
    if ((view.getUint16(at, true) & INFINITE_HALF) !== INFINITE_HALF) continue;
    const found = `a number beyond 65504 at ${firstElement + at / 2}`;
    fail('CONVERT_UNSUPPORTED', { what: `${tensor} as F16`, found, expected: '--outtype bf16 or f32' });
  }
}

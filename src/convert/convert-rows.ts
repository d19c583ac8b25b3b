import { fail } from '../base/errors.ts';
import { floatToHalf, halfToFloat } from '../base/half.ts';
import { F16, F32, type TensorFormat } from '../formats/index.ts';
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
 * Whole rows (of whole heads, if these change their order) as they are in the file. Throws `WEIGHTS_NOT_FINITE`, or
 * `CONVERT_UNSUPPORTED` for numbers that are too large for f16.
 */
export function convertRows(bytes: Uint8Array, piece: TensorPiece, target: RowTarget): Uint8Array {
  const { columns, headRows, add, stored } = piece;
  const ordered = headRows > 1 ? pairedRows(bytes, columns * stored.format.blockBytes, headRows) : bytes;
  const from = add === 0 ? stored.format : F32;
  const rows = add === 0 ? ordered : added(ordered, stored.format, add);
  if (from === target.format) return rows;
  const { tensor, format, firstElement } = target;
  const encoded = encodeRows({ tensor, bytes: rows, columns, firstElement }, { from, to: format });
  if (format === F16) checkHalves(encoded, target);
  return encoded;
}

/** Row `i` of a head's first half becomes row `2 i`, that of its second half row `2 i + 1`. */
function pairedRows(bytes: Uint8Array, rowBytes: number, headRows: number): Uint8Array {
  const ordered = new Uint8Array(bytes.byteLength);
  const half = headRows / 2;
  for (let row = 0; row * rowBytes < bytes.byteLength; row++) {
    const within = row % headRows;
    const to = row - within + (within < half ? 2 * within : 2 * (within - half) + 1);
    ordered.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), to * rowBytes);
  }
  return ordered;
}

/** Sums as f32; of halves rounded to halves, as PyTorch adds them. */
function added(bytes: Uint8Array, format: TensorFormat, add: number): Uint8Array {
  const values = new Float32Array(bytes.byteLength / format.blockBytes);
  format.decode(bytes, 0, values, 0, values.length);
  for (const [i, value] of values.entries()) {
    values[i] = format === F16 ? halfToFloat(floatToHalf(value + add)) : value + add;
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

import { fail, invariant } from '../base/errors.ts';
import type { GroupFits, TensorFormat } from '../formats/index.ts';

/** Whole rows of a tensor, and what they become. */
export interface RowsToEncode {
  readonly tensor: string;
  /** The rows in the format of the file. */
  readonly bytes: Uint8Array;
  readonly columns: number;
  /** The number of the first element, for messages. */
  readonly firstElement: number;
  /** The importance of each column; absent if it is unknown. */
  readonly importance?: Float32Array | undefined;
}

/** The formats of rows, and what scales are searched with. */
export interface RowFormats {
  readonly from: TensorFormat;
  readonly to: TensorFormat;
  readonly fits?: GroupFits | undefined;
}

/** The rows in another format. Throws `WEIGHTS_NOT_FINITE`. */
export function encodeRows(
  { tensor, bytes, columns, firstElement, importance }: RowsToEncode,
  { from, to, fits }: RowFormats,
): Uint8Array {
  invariant(to.encode, `${to.name} cannot be encoded`);
  const sourceRow = (columns / from.blockElements) * from.blockBytes;
  const blocks = columns / to.blockElements;
  const rows = bytes.byteLength / sourceRow;
  const encoded = new Uint8Array(rows * blocks * to.blockBytes);
  const values = new Float32Array(columns);
  for (let row = 0; row < rows; row++) {
    from.decode(bytes, row * sourceRow, values, 0, columns / from.blockElements);
    const wrong = firstNotFinite(values);
    if (wrong >= 0) fail('WEIGHTS_NOT_FINITE', { tensor, element: firstElement + row * columns + wrong });
    to.encode(values, 0, encoded, row * blocks * to.blockBytes, blocks, { importance, fits });
  }
  return encoded;
}

/** The place of the first value that is no number or infinite, or -1. A loop: a callback for each of a billion values takes seconds. */
function firstNotFinite(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) return i;
  }
  return -1;
}

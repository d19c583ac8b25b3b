import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';
import type { Weight } from '../../../ops/index.ts';
import { weightRowBytes } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import type { DenseType } from '../kernels/weights.ts';
import type { HostRows, WebGpuWeight, WeightChunk } from './webgpu-weight.ts';

/** A layout of weights on the device. */
export interface WeightLayout {
  /** Its name in `PackedWeight.layout`. */
  readonly name: string;
  of(parts: readonly Weight[], target: GpuTarget): WebGpuWeight;
}

/** Rows of a chunk are a multiple of this. */
const CHUNK_ROWS = 32;

/**
 * Splits the rows of a matrix into chunks that fit into a binding; `bytesOf` gives the bytes of a number of rows, which
 * for whole chunks must be a multiple of the bindings' alignment.
 */
export function chunksOf(
  rows: number,
  bindingBytes: number,
  bytesOf: (rows: number) => number,
): WeightChunk[] {
  const most = Math.floor(bindingBytes / bytesOf(CHUNK_ROWS)) * CHUNK_ROWS;
  const each = bytesOf(rows) <= bindingBytes ? rows : Math.max(CHUNK_ROWS, most);
  return Array.from({ length: Math.ceil(rows / each) }, (_, i) => ({
    firstRow: i * each,
    rowCount: Math.min(each, rows - i * each),
    offset: i * bytesOf(each),
    byteLength: bytesOf(each),
  }));
}

function decodeRows({ format, columns }: Weight, rows: Uint8Array, rowCount: number): Float32Array {
  const decoded = new Float32Array(rowCount * columns);
  format.decode(rows, 0, decoded, 0, decoded.length / format.blockElements);
  return decoded;
}

/** Vectors decoded to f32, one after another. */
export const FLOAT_LAYOUT: WeightLayout = {
  name: 'f32 vectors',
  of: (parts) => {
    const sizes = parts.map(({ rows, columns }) => rows * columns);
    const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
    const elements = sizes.reduce((sum, size) => sum + size, 0);
    return {
      parts,
      byteLength: 4 * elements,
      layout: 'f32 vectors',
      rowAlignment: 1,
      chunks: [{ firstRow: 0, rowCount: elements, offset: 0, byteLength: 4 * elements }],
      pack: ({ part, firstRow, rowCount }): HostRows[] => {
        const weight = parts[part] as Weight;
        return [
          {
            kind: 'host',
            target: 4 * ((starts[part] as number) + firstRow * weight.columns),
            byteLength: 4 * rowCount * weight.columns,
            unchanged: weight.format.name === 'F32',
            fill: (rows, into) => into.set(new Uint8Array(decodeRows(weight, rows, rowCount).buffer)),
          },
        ];
      },
    };
  },
};

const DENSE_TYPES: Readonly<Record<string, DenseType>> = { F16: 'f16', BF16: 'bf16' };

/** The type of a weight's elements if they are not multiplied as integers. */
export function denseType({ format }: Weight): DenseType {
  return DENSE_TYPES[format.name] ?? 'f32';
}

/** Elements per row of a dense matrix, with zeros after the last column. */
export function denseStride({ columns }: Weight): number {
  return alignUp(columns, 4);
}

/** Stacked weights of one width as plain numbers: f16 and bf16 as in the file, others decoded to f32. */
export const DENSE_LAYOUT: WeightLayout = {
  name: 'dense',
  of: (parts, { bindingBytes }) => {
    const [first] = parts;
    invariant(first, 'a packed weight has a part');
    const type = denseType(first);
    const stride = denseStride(first);
    const rowBytes = stride * (type === 'f32' ? 4 : 2);
    const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, { rows }) => sum + rows, 0));
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const chunks = chunksOf(rows, bindingBytes, (count) => alignUp(count * rowBytes, 16));
    return {
      parts,
      byteLength: chunks.reduce((sum, { byteLength }) => sum + byteLength, 0),
      layout: `dense ${type}`,
      rowAlignment: 1,
      chunks,
      pack: ({ part, firstRow, rowCount }): HostRows[] => {
        const weight = parts[part] as Weight;
        const stored = type !== 'f32' || weight.format.name === 'F32';
        return [
          {
            kind: 'host',
            target: ((starts[part] as number) + firstRow) * rowBytes,
            byteLength: rowCount * rowBytes,
            unchanged: stored && stride === weight.columns,
            fill: (bytes, into) => {
              const own = stored ? bytes : new Uint8Array(decodeRows(weight, bytes, rowCount).buffer);
              spread(own, stored ? weightRowBytes(weight) : 4 * weight.columns, into, rowBytes);
            },
          },
        ];
      },
    };
  },
};

/** Writes rows with a larger stride, with zeros between them. */
function spread(from: Uint8Array, fromBytes: number, into: Uint8Array, intoBytes: number): void {
  const rows = from.byteLength / fromBytes;
  for (let row = 0; row < rows; row++) {
    const at = row * intoBytes;
    into.set(from.subarray(row * fromBytes, (row + 1) * fromBytes), at);
    into.fill(0, at + fromBytes, at + intoBytes);
  }
}

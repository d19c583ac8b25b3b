import type { PackedWeight, WeightRows } from '../device/index.ts';
import type { TensorFormat } from '../formats/index.ts';
import type { TensorInfo } from '../gguf/tensor-info.ts';
import { weightRowBytes } from '../ops/value.ts';

/** Every `DecodePlace`. */
export const DECODE_PLACES = ['device', 'host'] as const;

/**
 * Where weights that do not keep the file's format are decoded: on the `device` while packing, or on the `host` before.
 */
export type DecodePlace = (typeof DECODE_PLACES)[number];

/** Rows of a weight that are read and uploaded together: as many as fit into a slot. */
export interface Chunk extends WeightRows {
  readonly tensor: TensorInfo;
  /** Offset of its rows in the tensor's source. */
  readonly fileOffset: number;
  readonly fileBytes: number;
  /** Bytes of the rows as handed to the device. */
  readonly bytes: number;
  /** The format that the host decodes the rows to; undefined if they are uploaded as in the file. */
  readonly become: TensorFormat | undefined;
}

/** One of several matrices that stand one below another in a file, and the place of it among fewer on the device. */
export interface MatrixMove {
  /** Its number in the file, of `count`. */
  readonly matrix: number;
  readonly count: number;
  /** Its place on the device, of `slots`. */
  readonly slot: number;
  readonly slots: number;
}

/** How a weight is split into chunks. */
export interface ChunkOptions {
  readonly decode: DecodePlace;
  readonly slotBytes: number;
  /** The one matrix that is moved. Default: the whole weight is. */
  readonly move?: MatrixMove | undefined;
}

/** Rows of every chunk but the last are a multiple of this, so that chunks start at multiples of four bytes. */
const MIN_ROW_ALIGNMENT = 4;

/**
 * Splits a weight, made of the file's tensors for its parts, into chunks of at most `slotBytes`, or of as few rows as
 * its layout allows.
 */
export function chunksOf(
  packed: PackedWeight,
  tensors: readonly TensorInfo[],
  { decode, slotBytes, move }: ChunkOptions,
): Chunk[] {
  const chunks: Chunk[] = [];
  packed.parts.forEach((of, part) => {
    const tensor = tensors[part] as TensorInfo;
    const { format } = tensor;
    const fileRowBytes = (of.columns / format.blockElements) * format.blockBytes;
    const become = of.format !== format && decode === 'host' ? of.format : undefined;
    const rowBytes = become ? weightRowBytes(of) : fileRowBytes;
    const most = rowsAChunk(rowBytes, Math.max(packed.rowAlignment, MIN_ROW_ALIGNMENT), slotBytes);
    const rows = of.rows / (move?.slots ?? 1);
    const [from, to] = [rows * (move?.matrix ?? 0), rows * (move?.slot ?? 0)];
    for (let row = 0; row < rows; row += most) {
      const rowCount = Math.min(most, rows - row);
      chunks.push({
        part,
        firstRow: to + row,
        rowCount,
        format: become ?? format,
        tensor,
        fileOffset: tensor.offset + (from + row) * fileRowBytes,
        fileBytes: rowCount * fileRowBytes,
        bytes: rowCount * rowBytes,
        become,
      });
    }
  });
  return chunks;
}

function rowsAChunk(rowBytes: number, alignment: number, slotBytes: number): number {
  return Math.max(alignment, Math.floor(slotBytes / rowBytes / alignment) * alignment);
}

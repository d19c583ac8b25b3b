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

/** Rows of every chunk but the last are a multiple of this, so that chunks start at multiples of four bytes. */
const MIN_ROW_ALIGNMENT = 4;

/**
 * Splits a weight, made of the file's tensors for its parts, into chunks of at most `slotBytes`, or of as few rows as
 * its layout allows.
 */
export function chunksOf(
  packed: PackedWeight,
  tensors: readonly TensorInfo[],
  { decode, slotBytes }: { decode: DecodePlace; slotBytes: number },
): Chunk[] {
  const chunks: Chunk[] = [];
  packed.parts.forEach((of, part) => {
    const tensor = tensors[part] as TensorInfo;
    const { format } = tensor;
    const fileRowBytes = (of.columns / format.blockElements) * format.blockBytes;
    const become = of.format !== format && decode === 'host' ? of.format : undefined;
    const rowBytes = become ? weightRowBytes(of) : fileRowBytes;
    const most = rowsAChunk(rowBytes, Math.max(packed.rowAlignment, MIN_ROW_ALIGNMENT), slotBytes);
    for (let firstRow = 0; firstRow < of.rows; firstRow += most) {
      const rowCount = Math.min(most, of.rows - firstRow);
      chunks.push({
        part,
        firstRow,
        rowCount,
        format: become ?? format,
        tensor,
        fileOffset: tensor.offset + firstRow * fileRowBytes,
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

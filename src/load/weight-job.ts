import type { BufferRange, PackedWeight } from '../device/index.ts';
import type { TensorFormat } from '../formats/index.ts';
import type { TensorInfo } from '../gguf/tensor-info.ts';
import { weightRowBytes } from '../ops/value.ts';

/** Where weights are decoded that do not stay as in the file. */
export const DECODE_PLACES = ['device', 'host'] as const;

/** One of `DECODE_PLACES`. */
export type DecodePlace = (typeof DECODE_PLACES)[number];

/**
 * A packed weight, where it goes, and the file's tensors for its parts. A part whose format is not its tensor's is decoded
 * on the way: F16 and F32 are the formats that every other one can become.
 */
export interface WeightJob {
  readonly weight: PackedWeight;
  readonly target: BufferRange;
  readonly tensors: readonly TensorInfo[];
  /** Where a part whose format is not its tensor's is decoded; the device has said that it does. Default: on the host. */
  readonly decode?: DecodePlace | undefined;
  /** It is loaded again and again, because its memory is reused in between (streamed layers). */
  readonly comesAgain?: boolean | undefined;
  /** The rows are copied to the target one behind the other, not packed: for tensors that no program reads. */
  readonly plain?: boolean;
}

/** Rows of a plain job's chunk are a multiple of this, so that every chunk's place in the target is aligned. */
const PLAIN_ROWS = 256;

/** A job that brings a tensor to the device as `format` writes it: block after block. */
export function plainJob(tensor: TensorInfo, format: TensorFormat, target: BufferRange): WeightJob {
  const columns = Math.max(format.blockElements, tensor.format.blockElements);
  const rows = tensor.elementCount / columns;
  const part = { kind: 'weight', id: 0, name: tensor.name, format, rows, columns } as const;
  const byteLength = plainBytes(tensor, format);
  const weight = { parts: [part], byteLength, layout: 'plain', rowAlignment: PLAIN_ROWS };
  return { weight, target, tensors: [tensor], plain: true };
}

/** Bytes of a tensor's elements as `format` writes them. */
export function plainBytes({ elementCount }: TensorInfo, format: TensorFormat): number {
  return (elementCount / format.blockElements) * format.blockBytes;
}

/** Some rows of one tensor: what fits into a slot. */
export interface Chunk {
  readonly part: number;
  readonly tensor: TensorInfo;
  readonly firstRow: number;
  readonly rowCount: number;
  /** Where its rows begin in the tensor's source. */
  readonly fileOffset: number;
  readonly fileBytes: number;
  /** Bytes of the rows as they are handed to the device. */
  readonly bytes: number;
  /** The host decodes them to the weight's format. */
  readonly decodes: boolean;
}

/** Rows of a chunk that is not the last are a multiple of this, so that chunks begin at multiples of four bytes. */
const LEAST_ROW_ALIGNMENT = 4;

/** Cuts a job into chunks of at most `slotBytes`, or of as few rows as the weight's layout allows. */
export function chunksOf({ weight, tensors, decode }: WeightJob, slotBytes: number): Chunk[] {
  const chunks: Chunk[] = [];
  weight.parts.forEach((of, part) => {
    const tensor = tensors[part] as TensorInfo;
    const fileRowBytes = (of.columns / tensor.format.blockElements) * tensor.format.blockBytes;
    const decodes = of.format !== tensor.format && decode !== 'device';
    const rowBytes = decodes ? weightRowBytes(of) : fileRowBytes;
    const most = rowsAChunk(rowBytes, Math.max(weight.rowAlignment, LEAST_ROW_ALIGNMENT), slotBytes);
    for (let firstRow = 0; firstRow < of.rows; firstRow += most) {
      const rowCount = Math.min(most, of.rows - firstRow);
      chunks.push({
        part,
        tensor,
        firstRow,
        rowCount,
        fileOffset: tensor.offset + firstRow * fileRowBytes,
        fileBytes: rowCount * fileRowBytes,
        bytes: rowCount * rowBytes,
        decodes,
      });
    }
  });
  return chunks;
}

function rowsAChunk(rowBytes: number, alignment: number, slotBytes: number): number {
  return Math.max(alignment, Math.floor(slotBytes / rowBytes / alignment) * alignment);
}

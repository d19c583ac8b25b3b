import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fail, throwIfAborted } from '../base/errors.ts';
import type { CheckpointFiles } from '../convert/checkpoint.ts';
import { convertRows } from '../convert/convert-rows.ts';
import type { ConvertPlan } from '../convert/convert-plan.ts';
import type { ConvertedTensor, TensorPiece } from '../convert/convert-tensors.ts';
import { GgufWriter } from '../gguf/index.ts';
import { FileSource } from './file-source.ts';
import { writeWhole } from './write-whole.ts';

/** How a file is written. */
export interface ConvertRun {
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of the file that are done. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Elements in memory at a time. */
const SLAB_ELEMENTS = 1 << 20;

/** The files of a folder. */
export function checkpointFolder(path: string): CheckpointFiles {
  return {
    name: basename(resolve(path)),
    list: async () => {
      return readdir(path).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code !== 'ENOTDIR') return unavailable(path, cause);
        const expected = 'the folder of a model in safetensors (a GGUF file needs no conversion)';
        return fail('INVALID_ARGUMENT', { name: 'folder', found: `the file ${path}`, expected }, cause);
      });
    },
    read: async (file) => {
      return readFile(join(path, file)).catch((cause: NodeJS.ErrnoException) =>
        cause.code === 'ENOENT' || cause.code === 'ENOTDIR'
          ? undefined
          : unavailable(join(path, file), cause),
      );
    },
    open: (file) => FileSource.open(join(path, file)),
  };
}

/**
 * Writes what a plan makes of a checkpoint, and returns the length in bytes. No half file is left. Rejects with `WRITE_FAILED`,
 * `ABORTED`, `WEIGHTS_NOT_FINITE`, `CONVERT_UNSUPPORTED`, or an error of reading.
 */
export async function writeConverted(
  plan: ConvertPlan,
  { path, signal, onProgress }: ConvertRun,
): Promise<number> {
  return writeWhole(path, async (sink) => {
    const writer = await GgufWriter.begin(sink, plan.plan);
    const total = writer.layout.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    let done = 0;
    for (const tensor of plan.tensors) {
      for await (const bytes of bytesOf(tensor, signal)) {
        throwIfAborted(signal, 'converting');
        await writer.write(bytes);
        done += bytes.byteLength;
        onProgress?.(done, total);
      }
    }
    writer.end();
    return writer.layout.byteLength;
  });
}

/** The data of a tensor, a few megabytes at a time. */
async function* bytesOf(
  tensor: ConvertedTensor,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (tensor.values) yield new Uint8Array(tensor.values.slice().buffer);
  for (const piece of tensor.pieces) {
    const { rows, columns, headRows } = piece;
    const heads = Math.max(1, Math.floor(SLAB_ELEMENTS / columns / headRows));
    for (let row = 0; row < rows; row += heads * headRows) {
      const count = Math.min(heads * headRows, rows - row);
      yield convertRows(await readRows(piece, { row, count }, signal), piece, {
        tensor: tensor.name,
        format: tensor.format,
        firstElement: row * columns,
      });
    }
  }
}

async function readRows(
  { stored, columns }: TensorPiece,
  { row, count }: { row: number; count: number },
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const rowBytes = columns * stored.format.blockBytes;
  const bytes = new Uint8Array(count * rowBytes);
  await stored.source.read(stored.offset + row * rowBytes, bytes, signal);
  return bytes;
}

function unavailable(source: string, cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return fail('SOURCE_UNAVAILABLE', { source, reason }, cause);
}

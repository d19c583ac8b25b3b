import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fail, throwIfAborted } from '../base/errors.ts';
import type { CheckpointFiles, StoredTensor } from '../convert/checkpoint.ts';
import { convertRows, packMxfp4 } from '../convert/convert-rows.ts';
import type { ConvertPlan } from '../convert/convert-plan.ts';
import type { ConvertedTensor } from '../convert/convert-tensors.ts';
import { GgufWriter } from '../gguf/index.ts';
import type { ByteSink } from '../io/index.ts';
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
  const write = async (sink: ByteSink) => {
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
  };
  return writeWhole(path, write, signal);
}

/** The data of a tensor, a few megabytes at a time. */
async function* bytesOf(
  tensor: ConvertedTensor,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (tensor.values) yield new Uint8Array(tensor.values.slice().buffer);
  const { name, format } = tensor;
  for (const piece of tensor.pieces) {
    const { stored, scales, unit, units, columns } = piece;
    const rowUnits = columns / unit;
    const most = rowUnits * Math.max(1, Math.floor(SLAB_ELEMENTS / columns));
    for (let first = 0; first < units; first += most) {
      const slab = { first, count: Math.min(most, units - first), order: piece.order, signal };
      if (scales) {
        const blocks = unit / format.blockElements;
        const codes = await readUnits(stored, { ...slab, bytes: blocks * (format.blockBytes - 1) });
        yield packMxfp4(codes, await readUnits(scales, { ...slab, bytes: blocks }));
      } else {
        const rows = await readUnits(stored, { ...slab, bytes: unit * stored.format.blockBytes });
        yield convertRows(rows, piece, { tensor: name, format, firstElement: first * unit });
      }
    }
  }
}

/** Units that a tensor is read in. */
interface UnitRange {
  readonly first: number;
  readonly count: number;
  readonly order: ((unit: number) => number) | undefined;
  /** Bytes of a unit. */
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
}

/** Of what is read at once, so much is used at least. */
const USED_SHARE = 0.5;

/** Units in the order of the file. Those that are stored near one another are read at once. */
async function readUnits({ source, offset }: StoredTensor, range: UnitRange): Promise<Uint8Array> {
  const { first, count, order, bytes, signal } = range;
  const result = new Uint8Array(count * bytes);
  if (!order) {
    await source.read(offset + first * bytes, result, signal);
    return result;
  }
  const stored = Array.from({ length: count }, (_, i) => order(first + i));
  const read = async (from: number, to: number): Promise<void> => {
    const units = stored.slice(from, to);
    const [lowest, highest] = units.reduce(
      ([low, high], unit) => [Math.min(low, unit), Math.max(high, unit)],
      [Number.POSITIVE_INFINITY, 0],
    );
    const span = highest - lowest + 1;
    if (units.length < span * USED_SHARE) {
      const middle = (from + to) >> 1;
      await read(from, middle);
      return read(middle, to);
    }
    const near = new Uint8Array(span * bytes);
    await source.read(offset + lowest * bytes, near, signal);
    for (const [i, unit] of units.entries()) {
      const at = (unit - lowest) * bytes;
      result.set(near.subarray(at, at + bytes), (from + i) * bytes);
    }
  };
  await read(0, count);
  return result;
}

function unavailable(source: string, cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return fail('SOURCE_UNAVAILABLE', { source, reason }, cause);
}

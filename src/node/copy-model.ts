import { rm, stat } from 'node:fs/promises';
import { fail, throwIfAborted } from '../base/errors.ts';
import { type GgufFile, type GgufPlan, GgufWriter } from '../gguf/index.ts';
import type { ByteSink } from '../io/index.ts';
import { writeWhole } from './write-whole.ts';

/** A file to be written, whose tensors' data are those of a source. */
export interface CopiedFile {
  readonly path: string;
  readonly plan: GgufPlan;
}

/** How files are copied. */
export interface CopyRun {
  readonly signal?: AbortSignal | undefined;
  /** Bytes of tensors that are done. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Bytes that are in memory at a time. */
const PIECE_BYTES = 8 << 20;

/**
 * Writes files with the tensors of `gguf` as they are: all of them or, on failure, none. Rejects with `INVALID_ARGUMENT` if one of
 * them exists, `GGUF_TENSOR_MISSING`, `WRITE_FAILED`, `ABORTED`, or an error of reading.
 */
export async function copyModel(gguf: GgufFile, files: readonly CopiedFile[], run: CopyRun): Promise<void> {
  for (const { path } of files) await requireFree(path, files.length);
  const total = gguf.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const progress = { done: 0, total };
  const written: string[] = [];
  try {
    for (const { path, plan } of files) {
      await copyFile(gguf, { path, plan }, run, progress);
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    throw error;
  }
}

async function copyFile(
  gguf: GgufFile,
  { path, plan }: CopiedFile,
  { signal, onProgress }: CopyRun,
  progress: { done: number; readonly total: number },
): Promise<void> {
  const write = async (sink: ByteSink) => {
    const writer = await GgufWriter.begin(sink, plan);
    const piece = new Uint8Array(PIECE_BYTES);
    for (const { name } of plan.tensors) {
      const { source, offset, byteLength } = gguf.requireTensor(name);
      for (let at = 0; at < byteLength; at += PIECE_BYTES) {
        throwIfAborted(signal, 'copying tensors');
        const bytes = piece.subarray(0, Math.min(PIECE_BYTES, byteLength - at));
        await source.read(offset + at, bytes, signal);
        await writer.write(bytes);
        progress.done += bytes.byteLength;
        onProgress?.(progress.done, progress.total);
      }
    }
    writer.end();
  };
  await writeWhole(path, write, signal);
}

/**
 * Half a model in place of a whole one could not be undone. A pipe or a device takes one file, but it is not one of several, which are
 * removed on failure.
 */
async function requireFree(path: string, count: number): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there && (there.isFile() || count > 1)) {
    fail('INVALID_ARGUMENT', { name: '--output', found: `${path}, which exists`, expected: 'a new file' });
  }
}

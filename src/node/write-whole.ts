import { randomUUID } from 'node:crypto';
import { readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, sep } from 'node:path';
import type { ByteSink } from '../io/index.ts';
import { FileSink, writeFailed } from './file-sink.ts';
import { PipeSink } from './pipe-sink.ts';

/** A file or a pipe that is written to. Its creator disposes it. */
export interface OwnedSink extends ByteSink, AsyncDisposable {
  dispose(): Promise<void>;
}

/**
 * Writes a file in whole or not at all, and returns what `write` does. It has a temporary name until it is complete: on
 * failure or abort no file is left, and an existing file of its name is unchanged, even for those who have it open. Named pipes
 * and devices are written to directly. Rejects with `WRITE_FAILED`, `ABORTED` while a pipe is waited for, or as `write`.
 */
export async function writeWhole<T>(
  path: string,
  write: (sink: ByteSink) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (await isSpecial(path)) {
    await using sink = await createSink(path, signal);
    return await write(sink);
  }
  const target = await targetOf(path);
  const part = `${target}.${randomUUID()}`;
  const sink = await FileSink.create(part, true, target).catch((error: Error) => {
    // The system names the temporary file, which says nothing to whoever named this one.
    const isMissing = (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
    return isMissing
      ? writeFailed(target, new Error(`there is no folder ${dirname(target)}`))
      : Promise.reject(error);
  });
  try {
    const result = await write(sink);
    await sink.dispose();
    await rename(part, target).catch((cause: unknown) => writeFailed(target, cause));
    return result;
  } catch (error) {
    await sink.dispose();
    await rm(part, { force: true });
    throw error;
  }
}

/** A file that is written anew, or what else has that name: a pipe, a device. Rejects with `WRITE_FAILED` or `ABORTED`. */
export async function createSink(path: string, signal?: AbortSignal): Promise<OwnedSink> {
  const isPipe = await stat(path).then(
    (stats) => stats.isFIFO(),
    () => false,
  );
  return isPipe ? PipeSink.open(path, { signal }) : FileSink.create(path);
}

/** The actual path of a file after all symbolic links, the last of which may be dangling. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    // A cycle of links would be followed forever.
    if (cause instanceof Error && 'code' in cause && cause.code === 'ELOOP') return writeFailed(path, cause);
    const link = await readlink(path).catch(() => undefined);
    if (link === undefined) return path;
    // Not normalized: the system has to resolve `..` after a link to a folder.
    return targetOf(isAbsolute(link) ? link : `${dirname(path)}${sep}${link}`);
  }
}

/** True for pipes, devices and folders, which must not be replaced. */
function isSpecial(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => !stats.isFile(),
    () => false,
  );
}

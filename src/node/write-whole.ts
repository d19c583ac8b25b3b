import { randomUUID } from 'node:crypto';
import { readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, sep } from 'node:path';
import { FileSink, writeFailed } from './file-sink.ts';

/**
 * Writes a file in whole or not at all, and returns what `write` does. It has a temporary name until it is complete: on
 * failure or abort no file is left, and an existing file of its name is unchanged, even for those who have it open.
 * Rejects with `WRITE_FAILED`, or as `write`.
 */
export async function writeWhole<T>(path: string, write: (sink: FileSink) => Promise<T>): Promise<T> {
  const target = await targetOf(path);
  const part = (await isDevice(target)) ? undefined : `${target}.${randomUUID()}`;
  const sink = await FileSink.create(part ?? target, part !== undefined).catch((error: Error) => {
    // The temporary name would say nothing to whoever named the file.
    const isMissing = (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
    return isMissing
      ? writeFailed(target, new Error(`there is no folder ${dirname(target)}`))
      : Promise.reject(error);
  });
  try {
    const result = await write(sink);
    await sink.dispose();
    if (part !== undefined) await rename(part, target).catch((cause: unknown) => writeFailed(target, cause));
    return result;
  } catch (error) {
    await sink.dispose();
    if (part !== undefined) await rm(part, { force: true });
    throw error;
  }
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

/** True for special files such as pipes, which are written to directly and must not be replaced. */
function isDevice(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => !stats.isFile(),
    () => false,
  );
}

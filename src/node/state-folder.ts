import { mkdir, rename, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { fail, isRocmforgeError } from '../base/errors.ts';
import type { ByteSink, ByteSource } from '../io/index.ts';
import type { StateFiles } from '../server/index.ts';
import { FileSink, writeFailed } from './file-sink.ts';
import { FileSource } from './file-source.ts';

/** Saved states as files of a folder. */
export class StateFolder implements StateFiles {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Creates the folder if need be. Rejects with `WRITE_FAILED`. */
  static async open(path: string): Promise<StateFolder> {
    await mkdir(path, { recursive: true }).catch((cause: unknown) => writeFailed(path, cause));
    return new StateFolder(path);
  }

  async write(name: string, write: (sink: ByteSink) => Promise<number>): Promise<number> {
    const path = join(this.#path, name);
    const unfinished = join(this.#path, `.${randomUUID()}.part`);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch((cause: unknown) =>
      writeFailed(path, cause),
    );
    try {
      await using sink = await FileSink.create(unfinished, true, path);
      const length = await write(sink);
      await sink.dispose();
      await rename(unfinished, path).catch((cause: unknown) => writeFailed(path, cause));
      return length;
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async open(name: string): Promise<ByteSource> {
    try {
      return await FileSource.open(join(this.#path, name));
    } catch (error) {
      if (isRocmforgeError(error, 'SOURCE_UNAVAILABLE'))
        fail('STATE_FILE_NOT_FOUND', { file: basename(name) }, error);
      throw error;
    }
  }
}

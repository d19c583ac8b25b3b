import { constants, copyFile, link, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fail } from '../base/errors.ts';
import type { ModelFiles } from '../server/index.ts';
import { writeFailed } from './file-sink.ts';
import { modelFilesIn, modelName, partsOf } from './model-files.ts';

/** A name that is a plain file name on every system. */
const FILE_NAME = /^[\w-](?:[\w .-]{0,126}[\w-])?$/;

/** The models of a folder. */
export class ModelFolder implements ModelFiles {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** The copy is the same file under another name where the file system can do that. */
  async copy(id: string, as: string): Promise<void> {
    const models = await this.#models();
    const source = found(models, id);
    if (!FILE_NAME.test(as)) {
      const problem = 'expected letters, digits, _, -, and dots or spaces between them';
      fail('REQUEST_INVALID', { field: 'destination', problem });
    }
    if (models.has(as)) fail('REQUEST_INVALID', { field: 'destination', problem: `there is a model ${as}` });
    for (const part of await partsOf(source)) {
      const path = join(this.#path, `${as}${basename(part).slice(id.length)}`);
      await link(part, path)
        .catch(async (cause: NodeJS.ErrnoException) => {
          if (cause.code === 'EEXIST') throw cause;
          await copyFile(part, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
        })
        .catch((cause: unknown) => writeFailed(path, cause));
    }
  }

  async remove(id: string): Promise<void> {
    const first = found(await this.#models(), id);
    for (const part of (await partsOf(first)).toReversed()) {
      await rm(part, { force: true }).catch((cause: unknown) => writeFailed(part, cause));
    }
  }

  /** The first file of each model, by name. */
  async #models(): Promise<ReadonlyMap<string, string>> {
    const files = await modelFilesIn(this.#path);
    return new Map(files.map((file) => [modelName(file), file]));
  }
}

/** Throws `MODEL_NOT_FOUND`. */
function found(models: ReadonlyMap<string, string>, id: string): string {
  return (
    models.get(id) ??
    fail('MODEL_NOT_FOUND', { model: id.slice(0, 200), known: [...models.keys()].join(', ') })
  );
}

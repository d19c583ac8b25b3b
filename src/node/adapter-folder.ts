import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { fail } from '../base/errors.ts';
import type { AdapterFiles } from '../server/index.ts';

/** The adapters in a folder and its subfolders. */
export class AdapterFolder implements AdapterFiles {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Rejects with `INVALID_ARGUMENT` if there is no such folder. */
  static async open(path: string): Promise<AdapterFolder> {
    const found = await realpath(path).catch((error: unknown) =>
      fail('INVALID_ARGUMENT', { name: 'lora-folder', found: path, expected: 'a folder' }, error),
    );
    return new AdapterFolder(found);
  }

  /** A path relative to the folder, or an absolute one that leads into it; links are followed first. */
  async locate(path: string): Promise<string> {
    const problem = 'there is no such file in the folder of --lora-folder';
    const refuse = (cause?: unknown) => fail('REQUEST_INVALID', { field: 'lora_path', problem }, cause);
    if (path.includes('\0')) return refuse();
    const file = await realpath(isAbsolute(path) ? path : join(this.#path, path)).catch(refuse);
    const within = relative(this.#path, file);
    const isOutside = within === '' || isAbsolute(within) || within.split(sep)[0] === '..';
    return isOutside ? refuse() : file;
  }
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fail } from '../base/errors.ts';
import type { KernelTexts } from '../devices/hip-cuda/index.ts';

/** The package's kernels; the build puts them beside the compiled code. */
export const KERNEL_FOLDER = fileURLToPath(new URL('../devices/hip-cuda/kernels/', import.meta.url));

/** Kernel sources as files in folders; earlier folders take precedence. */
export class FileKernelTexts implements KernelTexts {
  readonly #folders: readonly string[];

  constructor(folders: readonly string[] = [KERNEL_FOLDER]) {
    this.#folders = folders;
  }

  read(name: string): string {
    let cause: unknown;
    for (const folder of this.#folders) {
      try {
        return readFileSync(join(folder, name), 'utf8');
      } catch (error) {
        cause = error;
      }
    }
    return fail(
      'KERNEL_MISSING',
      { kernel: name, found: `no such text in ${this.#folders.join(', ')}` },
      cause,
    );
  }
}

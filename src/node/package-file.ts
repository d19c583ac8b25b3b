import { existsSync } from 'node:fs';
import { fail } from '../base/errors.ts';

/**
 * A file that comes with the package, by its address relative to the module `from`: the code of a thread, kernels.
 * Throws `PACKAGE_INCOMPLETE` if it is not there: a bundler moved the code to another place and left it behind.
 */
export function packageFile(name: string, from: string): URL {
  const file = new URL(name, from);
  if (!existsSync(file)) fail('PACKAGE_INCOMPLETE', { file: name });
  return file;
}

import { fileURLToPath } from 'node:url';
import { packageFile } from './package-file.ts';

/** Its file, seen from the compiled one in dist/src, as is the command line's bundle. */
const FILE = '../../../models/minimind2-small-q4_k_m.gguf';

/**
 * The path of the model that comes with the package: MiniMind2-Small, 26M parameters, English and Chinese, a toy to try things out
 * with. Its file recommends greedy sampling. Throws `PACKAGE_INCOMPLETE`.
 */
export function bundledModel(): string {
  return fileURLToPath(packageFile(FILE, import.meta.url));
}

// Builds dist/ where it is not what the sources say: the CPU kernels with AssemblyScript (once per change of their text),
// everything else with tsc, the command line, and the page.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lookAtBuild, recordBuild } from './build-record.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const { built, whole, inputs } = lookAtBuild(root);
if (!built) {
  // The compilers keep records of their own, and would not miss what was deleted.
  if (!whole) rmSync(join(root, 'dist'), { recursive: true, force: true });
  // To read the compilers takes longer than to find that there is nothing to compile.
  const { compileAll } = await import('./compile-all.mjs');
  try {
    await compileAll(root);
  } catch (error) {
    recordBuild(root, {});
    throw error;
  }
  recordBuild(root, inputs);
}

// Builds dist/src/bin: the command line, what Node imports of the library, and the threads and processes that both start, a few files where
// dist/src has some eight hundred. Node opens, checks and links every module by itself: that is half of what a short command would take,
// and of what a thread of the CPU device takes to start, and three quarters of importing the library.
import { readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** A folder beside those of the compiled sources: its files name others by address relative to themselves, as the sources do. */
const OUT = join(ROOT, 'dist/src/bin');

const ENTRIES = {
  main: 'src/cli/main.ts',
  'engine-worker': 'src/node/engine-worker.ts',
  'cpu-worker': 'src/node/cpu-worker.ts',
  'decode-worker': 'src/node/decode-worker.ts',
  'constraint-worker': 'src/node/constraint-worker.ts',
  'facts-worker': 'src/node/facts-worker.ts',
  'hash-worker': 'src/node/hub/hash-worker.ts',
  'quantize-worker': 'src/node/quantize-worker.ts',
  'prompt-worker': 'src/node/prompt-worker.ts',
  'worker-process': 'src/node/worker-process.ts',
  'hip-cuda-compile-process': 'src/node/hip-cuda-compile-process.ts',
  'native-compile-process': 'src/node/native-compile-process.ts',
};

/** What package.json's exports are for Node, and the sources of what they are for everybody else. */
function exported() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return Object.values(exports).flatMap(({ node, default: module }) =>
    node ? [[basename(node, '.js'), module.replace('./dist/', '').replace(/\.js$/, '.ts')]] : [],
  );
}

/** Bundles the sources; the packages that they depend on stay where they are. */
export async function buildBin() {
  rmSync(OUT, { recursive: true, force: true });
  const entries = [...Object.entries(ENTRIES), ...exported()].map(([name, file]) => [name, join(ROOT, file)]);
  await build({
    entryPoints: Object.fromEntries(entries),
    outdir: OUT,
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    target: 'node20.20',
    format: 'esm',
    logLevel: 'warning',
  });
}

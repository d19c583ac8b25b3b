// Builds dist/src/bin: the command line, and the threads and processes that it and the library start, a few files where dist/src has
// some four hundred. Node opens, checks and links every module by itself: that is half of what a short command would take, and of
// what a thread of the CPU device takes to start.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** Bundles the sources; the packages that they depend on stay where they are. */
export async function buildBin() {
  rmSync(OUT, { recursive: true, force: true });
  const entries = Object.entries(ENTRIES).map(([name, file]) => [name, join(ROOT, file)]);
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

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { F16 } from '../src/formats/index.ts';
import { loadModel } from '../src/index.ts';
import type { CacheType } from '../src/model/layer-states.ts';
import { syntheticShape } from '../src/model/synthetic/shapes.ts';
import { writeSyntheticModel } from '../src/node/write-synthetic-model.ts';

// How close the embeddings of real devices are to the CPU's, for a random BERT of four layers and one long text, for
// each cache type: `node dist/bench/encoder-devices.js cuda webgpu`. Exits with 1 if a cosine is below 0.999.

const SIZES = { layers: 4, width: 512, heads: 8, kvHeads: 8, hidden: 2048, context: 512 };
const IDS = Array.from({ length: 200 }, (_, i) => (7 + 13 * i + 5 * i * i) % 500);
const MIN_COSINE = 0.999;

const folder = mkdtempSync(join(tmpdir(), 'rocmforge-'));
const path = join(folder, 'bert.gguf');
try {
  const shape = syntheticShape('llama-tiny', { architecture: 'bert', ...SIZES });
  await writeSyntheticModel({ path, name: 'bert', shape, format: F16, seed: 1 });
  const expected = await embedding('cpu', 'f32');
  for (const device of process.argv.slice(2)) {
    for (const cacheType of ['f32', 'f16', 'q8_0'] as const) {
      const found = await embedding(device, cacheType);
      const cosine = found.reduce((sum, value, i) => sum + value * (expected[i] ?? 0), 0);
      console.log(`${device}, ${cacheType} cache: cosine ${cosine.toFixed(6)} to the CPU's`);
      if (!(cosine >= MIN_COSINE)) process.exitCode = 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** The text's vector, of length 1. */
async function embedding(device: string, cacheType: CacheType): Promise<Float32Array> {
  await using model = await loadModel(path, { device, cacheType });
  const { vector } = await model.embed(IDS);
  return vector;
}

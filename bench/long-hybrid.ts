// Whether a hybrid's states hold at great depth: a small random model reads a long text twice, in steps of two sizes, and every
// position's logits must be finite and agree. Prints the largest difference by depth, beside that of the first positions, and what
// the plan says of the memory: recurrent states do not grow with the text.
//   node dist/bench/long-hybrid.js [--arch qwen35] [--length 131072] [--steps 512,320] [--threads 2] [--device cpu]
import { rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../src/base/seeded-random.ts';
import { F32 } from '../src/formats/index.ts';
import { type LanguageModel, loadModel, type LoadModelOptions } from '../src/index.ts';
import { syntheticShape } from '../src/model/synthetic/shapes.ts';
import { writeSyntheticModel } from '../src/node/write-synthetic-model.ts';
import { familyOfVariant } from '../tests/support/family-variant.ts';

const { values } = parseArgs({
  options: {
    arch: { type: 'string', default: 'qwen35' },
    length: { type: 'string', default: '131072' },
    steps: { type: 'string', default: '512,320' },
    threads: { type: 'string', default: '2' },
    device: { type: 'string', default: 'cpu' },
  },
});
const [length, threads] = [Number(values.length), Number(values.threads)];
const steps = values.steps.split(',').map(Number);
if (steps.length !== 2) throw new Error('--steps takes two sizes: 512,320');

/** One line for each of so many parts of the text. */
const PARTS = 8;

const architecture = values.arch;
const shape = syntheticShape('tiny', { architecture, width: 32, heads: 2, kvHeads: 1, context: length });
const random = seededRandom(5);
const ids = Array.from({ length }, () => 3 + Math.floor(random() * (shape.vocabulary - 3)));
const path = join(tmpdir(), `long-hybrid-${process.pid}.gguf`);
const family = familyOfVariant({ architecture });
await writeSyntheticModel({ path, name: 'long', shape, family, format: F32, seed: 1 });
try {
  console.log(`${architecture}, ${length} positions, load ${loadavg()[0]?.toFixed(1)}`);
  const short = await memoryOf(4096);
  const long = await memoryOf(length);
  console.log(`states and caches: ${short} bytes for 4096 positions, ${long} for ${length}`);
  const [first, second] = [await logitsOf(steps[0] as number), await logitsOf(steps[1] as number)];
  const width = first.length / length;
  for (let part = 0; part < PARTS; part++) {
    const [from, end] = [part, part + 1].map((at) => Math.floor((at * length) / PARTS) * width) as [
      number,
      number,
    ];
    let [most, largest] = [0, 0];
    for (let i = from; i < end; i++) {
      most = Math.max(most, Math.abs((first[i] as number) - (second[i] as number)));
      largest = Math.max(largest, Math.abs(first[i] as number));
    }
    console.log(
      `positions ${from / width} to ${end / width - 1}: logits to ${largest.toFixed(2)}, differing by at most ${most.toExponential(1)}`,
    );
  }
} finally {
  rmSync(path, { force: true });
}

function open(batch: number, context = length): Promise<LanguageModel> {
  const device = values.device as NonNullable<LoadModelOptions['device']>;
  const on = device === 'cpu' ? { device, threads } : { device };
  return loadModel(path, { ...on, context, batch, logitRows: batch, cacheType: 'f32' });
}

/** Bytes of the planned states and caches. */
async function memoryOf(context: number): Promise<number> {
  await using model = await open(64, context);
  return model.fit.cache;
}

/** The logits of every position, one row after the other, read in steps of so many rows. Throws if one is not finite. */
async function logitsOf(rows: number): Promise<Float32Array> {
  await using model = await open(rows);
  let all = new Float32Array(0);
  const begin = performance.now();
  for await (const { logits, position } of model.evaluate(ids)) {
    if (all.length === 0) all = new Float32Array(length * logits.length);
    if (!logits.every(Number.isFinite)) throw new Error(`a logit of position ${position} is not finite`);
    all.set(logits, position * logits.length);
  }
  console.log(`in steps of ${rows}: ${((performance.now() - begin) / 1000).toFixed(0)} s`);
  return all;
}

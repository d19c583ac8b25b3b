// Damages valid models and keeps what is handled wrongly: npm run fuzz -- --minutes 10, or --runs 20000; --seed repeats.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../support/random.ts';
import { FuzzFailure, fuzzOnce } from './fuzz.ts';
import { sampleModels } from './samples.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, runs: { type: 'string' }, seed: { type: 'string' } },
});
const seed = values.seed === undefined ? Date.now() >>> 0 : Number(values.seed);
const maxRuns = values.runs === undefined ? Number.POSITIVE_INFINITY : Number(values.runs);
const minutes = Number(values.minutes ?? (values.runs === undefined ? 1 : Number.POSITIVE_INFINITY));
if (!(minutes > 0 && maxRuns > 0 && Number.isInteger(seed))) {
  throw new Error('--minutes and --runs take positive numbers, --seed an integer');
}

const random = seededRandom(seed);
const models = await sampleModels();
const outcomes: Record<string, number> = {};
const end = performance.now() + minutes * 60_000;
let runs = 0;
try {
  while (runs < maxRuns && performance.now() < end) {
    for (const model of models) {
      const outcome = await fuzzOnce(model, random);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      runs++;
    }
  }
} catch (error) {
  if (error instanceof FuzzFailure) {
    const folder = mkdtempSync(join(tmpdir(), 'rocmforge-fuzz-'));
    for (const [name, bytes] of error.files) writeFileSync(join(folder, name), bytes);
    console.error(`failed after ${runs} runs of seed ${seed}; the model is in ${folder}`);
  }
  throw error;
}
console.log(
  JSON.stringify({ runs, seed, rssMiB: Math.round(process.memoryUsage().rss / 2 ** 20), outcomes }),
);

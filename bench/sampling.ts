/**
 * The cost of sampling a token on the host: `node dist/bench/sampling.js [vocabulary]`. With the default settings, and
 * with a flat distribution truncated by probability, which has the most candidates to sort. The fastest of many samples
 * counts.
 */
import { DEFAULT_SAMPLING, SamplingScratch } from '../src/ops/index.ts';
import { NEUTRAL, sampleOne, someLogits } from '../tests/ops/sampling/sampling-setup.ts';

const ROUNDS = 50;

const vocabulary = Number(process.argv[2] ?? 128_256);
const logits = someLogits(vocabulary, 5);
const scratch = new SamplingScratch(vocabulary);
for (const [name, parameters] of Object.entries({
  'default settings': DEFAULT_SAMPLING,
  'top-p 0.9 of a flat distribution': { ...NEUTRAL, topP: 0.9 },
})) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    sampleOne({ logits, parameters, scratch, history: [1, 2, 3] });
    best = Math.min(best, performance.now() - start);
  }
  console.log(`${name}: ${best.toFixed(2)} ms a token of ${vocabulary}`);
}

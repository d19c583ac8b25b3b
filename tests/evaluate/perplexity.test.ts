import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { PositionLogits } from '../../src/runtime/forced-logits.ts';
import {
  estimatePerplexity,
  type PerplexityEstimate,
  perplexityChunks,
} from '../../src/evaluate/perplexity.ts';

const VOCABULARY = 7;

/** A model that gives the id after the last one a logit of 2, all others 0. */
async function* successor(ids: readonly number[], from: number): AsyncGenerator<PositionLogits> {
  for (let position = from; position < ids.length; position++) {
    const logits = new Float32Array(VOCABULARY);
    logits[((ids[position] ?? 0) + 1) % VOCABULARY] = 2;
    yield { position, logits };
  }
}

async function estimates(chunks: readonly (readonly number[])[]): Promise<PerplexityEstimate[]> {
  const all: PerplexityEstimate[] = [];
  for await (const estimate of estimatePerplexity(chunks, successor)) all.push(estimate);
  return all;
}

test('chunks are whole, begin as the model wants, and are as many as asked for', () => {
  const ids = Array.from({ length: 35 }, (_, i) => 100 + i);
  const chunks = perplexityChunks(ids, { context: 10, begin: 1 });
  assert.deepEqual(
    chunks.map((chunk) => [chunk.length, chunk[0], chunk[1], chunk[9]]),
    [
      [10, 1, 101, 109],
      [10, 1, 111, 119],
      [10, 1, 121, 129],
    ],
  );
  assert.equal(perplexityChunks(ids, { context: 10, begin: undefined, chunks: 2 })[1]?.[0], 110);
});

test('fewer than two chunks of text are refused', () => {
  assert.throws(
    () => perplexityChunks([1, 2, 3, 4, 5, 6, 7], { context: 4, begin: undefined }),
    (error: unknown) => isRocmforgeError(error, 'TEXT_TOO_SHORT'),
  );
});

test('the tokens of the second half but its first are predicted', async () => {
  const sum = Math.exp(2) + VOCABULARY - 1;
  const likely = Math.log(sum) - 2;
  const unlikely = Math.log(sum);
  // Predicted are the ids at 5, 6 and 7 of each chunk, from those at 4, 5 and 6.
  const [first, second] = await estimates([
    [0, 0, 0, 0, 3, 4, 5, 6],
    [0, 0, 0, 0, 3, 4, 5, 5],
  ]);
  assert.deepEqual([first?.tokens, second?.tokens], [3, 6]);
  assert.ok(Math.abs((first?.perplexity ?? 0) - Math.exp(likely)) < 1e-5);
  assert.ok(Math.abs(first?.error ?? 1) < 1e-5);
  const mean = (5 * likely + unlikely) / 6;
  assert.ok(Math.abs((second?.perplexity ?? 0) - Math.exp(mean)) < 1e-5);
  const variance = (5 * (likely - mean) ** 2 + (unlikely - mean) ** 2) / 6;
  assert.ok(Math.abs((second?.error ?? 0) - Math.exp(mean) * Math.sqrt(variance / 5)) < 1e-5);
});

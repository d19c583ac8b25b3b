import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeChunks,
  decodeFixed,
  decodeRow,
  encodeHeader,
  encodeRow,
  FIXED_BYTES,
  rowBytes,
} from '../../src/evaluate/base-logits.ts';
import { Divergence, logProbabilities } from '../../src/evaluate/divergence.ts';

const near = (found: number, expected: number, by = 1e-6) =>
  assert.ok(Math.abs(found - expected) <= by, `${found} is not ${expected}`);

const logsOf = (...probabilities: number[]) => Float32Array.from(probabilities, Math.log);

test('the divergence of two distributions is what the formula says', () => {
  const divergence = new Divergence();
  divergence.add(logsOf(0.5, 0.25, 0.25), logsOf(0.25, 0.5, 0.25), 1);
  const one = divergence.report();
  near(one.divergence.mean, 0.25 * Math.log(0.5) + 0.5 * Math.log(2));
  near(one.perplexity.mean, 4);
  near(one.basePerplexity.mean, 2);
  near(one.logRatio.mean, Math.log(2));
  near(one.probability.mean, -0.25);
  near(one.probabilityRms.mean, 0.25);
  assert.equal(one.sameTop.mean, 0);
  divergence.add(logsOf(0.5, 0.25, 0.25), logsOf(0.5, 0.25, 0.25), 0);
  const two = divergence.report();
  assert.equal(two.positions, 2);
  near(two.divergence.minimum, 0);
  near(two.divergence.median, two.divergence.maximum / 2);
  near(two.sameTop.mean, 0.5);
  near(two.sameTop.error, 0.5);
});

test('a base’s log probabilities keep 16 bits of their range in a file', () => {
  const logits = Float32Array.from([3, 1, -2, 3.5, -40]);
  const row = encodeRow(logits);
  assert.equal(row.length, rowBytes(5));
  const expected = logProbabilities(logits);
  const found = decodeRow(row, 5);
  for (const id of [0, 1, 2, 3]) near(found[id] as number, expected[id] as number, 1.3e-4);
  near(found[4] as number, (expected[3] as number) - 16, 1e-3);
  assert.deepEqual(decodeRow(encodeRow(new Float32Array(2)), 2), Float32Array.from([-Math.LN2, -Math.LN2]));
  const header = {
    context: 4,
    vocabulary: 5,
    chunks: [
      [1, 2, 3, 4],
      [4, 3, 2, 1],
    ],
  };
  const bytes = encodeHeader(header);
  assert.deepEqual(decodeFixed(bytes), { context: 4, vocabulary: 5, count: 2 });
  assert.deepEqual(decodeChunks(bytes.subarray(FIXED_BYTES), 4), header.chunks);
  assert.equal(decodeFixed(new Uint8Array(FIXED_BYTES)), undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from '../../src/index.ts';
import { CHUNKS, LARGEST_DIFFERENCE } from '../support/family-fixtures.ts';
import { testFloatGoldens } from '../support/golden-tests.ts';
import { decodeForced, openForGolden, readGolden } from '../support/goldens.ts';
import { onOneCpu } from '../support/one-cpu.ts';

testFloatGoldens(
  {
    name: 'the CPU device',
    open: (path, options) => loadModel(path, { ...options, device: 'cpu' }),
  },
  /8 192 tokens/,
);

test('Llama 4 beyond its first chunk: as llama.cpp has it', async () => {
  const sequences = await readGolden(CHUNKS.golden);
  await using model = await openForGolden(CHUNKS.model, sequences, onOneCpu());
  const report = await decodeForced(model, sequences);
  assert.ok(report.maxDifference < LARGEST_DIFFERENCE, `a logit differs by ${report.maxDifference}`);
  assert.ok(report.greedyAgrees, 'what the golden generated comes out again');
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fixture } from '../support/fixture.ts';
import { decodeForced, openForGolden, readGolden } from '../support/goldens.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { sharedPath } from '../support/shared.ts';

/** The reference quantizes activations, and a device may: near ties may go either way. */
const SMALLEST_AGREEMENT = 0.99;
const LARGEST_LIKELIHOOD_DIFFERENCE = 0.02;

const CASES = [
  {
    name: 'MiniMind2-Small Q4_K_M',
    model: join(PROJECT_ROOT, 'models/minimind2-small-q4_k_m.gguf'),
    golden: fixture('goldens/minimind2-small-q4_k_m.forced.jsonl'),
  },
  {
    name: 'MiniMind2-Small Q8_0',
    model: sharedPath('models/bundle/minimind2-small-q8_0.gguf'),
    golden: sharedPath('goldens/minimind2-small-q8_0.forced.jsonl'),
  },
  {
    name: 'stories15M Q4_0',
    model: sharedPath('models/bundle/stories15M-q4_0.gguf'),
    golden: sharedPath('goldens/stories15M-q4_0.forced.jsonl'),
  },
] as const;

for (const { name, model: modelPath, golden } of CASES) {
  const skip = modelPath && golden ? false : 'the shared goldens and models are not beside the project';
  test(`${name} agrees with its golden on the CPU device`, { skip }, async () => {
    const sequences = await readGolden(golden ?? '');
    await using model = await openForGolden(modelPath ?? '', sequences, { device: 'cpu' });
    const report = await decodeForced(model, sequences);
    assert.ok(report.clearPositions > 0.8 * report.positions, `${report.clearPositions} positions are clear`);
    assert.ok(report.clearAgreement >= SMALLEST_AGREEMENT, `${report.clearAgreement} of them agree`);
    const difference = Math.abs(report.logLikelihoodDifference);
    assert.ok(difference <= LARGEST_LIKELIHOOD_DIFFERENCE, `log-likelihood differs by ${difference}`);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from '../../src/index.ts';
import {
  bestOf,
  decodeForced,
  openForGolden,
  readExpected,
  readFloats,
  readGolden,
} from '../support/goldens.ts';
import { sharedPath } from '../support/shared.ts';

/** The reference and we both compute in f32, in different orders. */
const LARGEST_DIFFERENCE = 1e-3;

const MODELS = [
  {
    name: 'stories260K',
    model: 'models/test-only/stories260K-f32.gguf',
    golden: 'stories260K-f32.forced.jsonl',
  },
  {
    // Biases, scales, far rotation factors; positions far beyond the context it says it was trained for.
    name: 'llama-dense with 8 192 tokens',
    model: 'models/random/llama-dense-random.gguf',
    golden: 'llama-dense-random.8k.forced.jsonl',
  },
] as const;

for (const { name, model: file, golden } of MODELS) {
  const paths = [sharedPath(file), sharedPath('goldens', golden)] as const;
  test(`${name} matches its golden on the CPU device`, { skip: reasonToSkip(paths) }, async () => {
    const [modelPath = '', goldenPath = ''] = paths;
    const sequences = await readGolden(goldenPath);
    await using model = await openForGolden(modelPath, sequences, { device: 'cpu' });
    const report = await decodeForced(model, sequences);
    assert.ok(report.maxDifference < LARGEST_DIFFERENCE, `a logit differs by ${report.maxDifference}`);
    assert.equal(report.clearAgreement, 1);
    assert.ok(Math.abs(report.logLikelihoodDifference) < 1e-4, `${report.logLikelihoodDifference}`);
    assert.ok(report.greedyAgrees, 'what the golden generated comes out again');
  });
}

const DENSE = [
  sharedPath('models/random/llama-dense-random.gguf'),
  sharedPath('goldens/llama-dense-random.logits.f32'),
  sharedPath('goldens/random.expected.txt'),
] as const;

for (const device of ['cpu', 'reference']) {
  test(
    `llama-dense gives all logits of its golden on the ${device} device`,
    {
      skip: reasonToSkip(DENSE),
    },
    async () => {
      const [modelPath = '', logitsPath = '', expectedPath = ''] = DENSE;
      const expected = await readExpected(expectedPath, 'llama-dense');
      const golden = await readFloats(logitsPath);
      const { prompt_ids: prompt, n_vocab: vocabulary, greedy_ids: greedy } = expected;
      assert.equal(golden.length, prompt.length * vocabulary);
      const options = {
        device,
        context: prompt.length + greedy.length,
        logitRows: 4,
        cacheType: 'f32',
      } as const;
      await using model = await loadModel(modelPath, options);
      let largest = 0;
      const best: number[] = [];
      for await (const { position, logits } of model.evaluate([...prompt, ...greedy.slice(0, -1)])) {
        if (position >= prompt.length - 1) best.push(bestOf(logits));
        const start = position * vocabulary;
        for (const [id, value] of golden.subarray(start, start + vocabulary).entries()) {
          largest = Math.max(largest, Math.abs((logits[id] ?? Number.NaN) - value));
        }
      }
      assert.ok(largest < LARGEST_DIFFERENCE, `a logit differs by ${largest}`);
      assert.deepEqual(best, greedy);
    },
  );
}

function reasonToSkip(paths: readonly (string | undefined)[]): string | false {
  return paths.includes(undefined) ? 'the shared goldens and models are not beside the project' : false;
}

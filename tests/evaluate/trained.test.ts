import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { loadModel } from '../../src/node/load-model.ts';
import { fixture } from '../support/fixture.ts';

// Real weights: a Mamba-2 hybrid of `bench/trained`, in Q8_0, beside what transformers said of the f16 weights.

interface Reference {
  readonly windows: readonly (readonly number[])[];
  readonly perplexity: number;
  readonly prompt: readonly number[];
  readonly greedy: readonly number[];
  readonly text: string;
}

const reference = JSON.parse(readFileSync(fixture('trained/granitehybrid.json'), 'utf8')) as Reference;
let model: LanguageModel;

before(async () => {
  model = await loadModel(fixture('trained/granitehybrid-q8_0.gguf'), { device: 'cpu', context: 512 });
});

after(() => model.dispose());

test('trained weights find held-back text as likely as transformers does, to half a percent', async () => {
  let sum = 0;
  let count = 0;
  for (const window of reference.windows) {
    const scores = await model.score(window);
    sum += scores.reduce((total, { logProbability }) => total + logProbability, 0);
    count += scores.length;
  }
  const ratio = Math.exp(-sum / count) / reference.perplexity;
  assert.ok(Math.abs(ratio - 1) < 0.005, `perplexity ${ratio} times that of transformers`);
});

test('trained weights continue a text as transformers does, from ids and from their text', async () => {
  const text = model.tokenizer.decode([...reference.prompt]);
  for (const prompt of [[...reference.prompt], text]) {
    const ids: number[] = [];
    const stream = model.generate(prompt, { maxTokens: reference.greedy.length, temperature: 0 });
    for await (const { token } of stream) if (token) ids.push(token.id);
    assert.deepEqual(ids, reference.greedy);
  }
  assert.equal(model.tokenizer.decode([...reference.prompt, ...reference.greedy]), reference.text);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  estimatePerplexity,
  type PerplexityEstimate,
  perplexityChunks,
} from '../../src/evaluate/perplexity.ts';
import { type ChatMessage, loadModel } from '../../src/index.ts';
import { tinyLlamaPath } from '../support/npm-model.ts';
import { sharedPath } from '../support/shared.ts';

/** llama.cpp's perplexity for this file on the raw test set of WikiText-2, context 512, the first four chunks. */
const GOLDEN_PERPLEXITY = 19.0079;
const CONTEXT = 512;
const CHUNKS = 4;

const wikitext = sharedPath('text/wikitext-2-raw-test.txt');
const skip = wikitext === undefined ? 'WikiText-2 is not beside the project' : false;

test("TinyLlama-1.1B in IQ2_XXS has llama.cpp's perplexity", { skip }, async () => {
  const text = readFileSync(wikitext ?? '', 'utf8').replace(/\n$/, '');
  await using model = await loadModel(await tinyLlamaPath(), { context: CONTEXT, logitRows: 64 });
  const { bos, addBos } = model.tokenizer.special;
  const cut = { context: CONTEXT, begin: addBos ? bos : undefined, chunks: CHUNKS };
  const chunks = perplexityChunks(model.tokenizer.encode(text), cut);
  assert.equal(chunks.length, CHUNKS);
  let last: PerplexityEstimate | undefined;
  for await (const estimate of estimatePerplexity(chunks, (ids, from) => model.evaluate(ids, from))) {
    last = estimate;
  }
  const perplexity = last?.perplexity ?? Number.NaN;
  const ratio = perplexity / GOLDEN_PERPLEXITY;
  assert.ok(Math.abs(ratio - 1) < 0.005, `perplexity ${perplexity}, llama.cpp ${GOLDEN_PERPLEXITY}`);
});

test('TinyLlama-1.1B holds a sensible conversation', async () => {
  await using model = await loadModel(await tinyLlamaPath(), { context: 512 });
  const turns: ChatMessage[] = [{ role: 'user', content: 'What is the capital of France?' }];
  const first = model.chat(turns, { temperature: 0, maxTokens: 48 });
  const answer = await first.text();
  assert.match(answer, /Paris/);
  const question: ChatMessage = { role: 'user', content: 'In which country is that city?' };
  const again = model.chat([...turns, { role: 'assistant', content: answer }, question], {
    temperature: 0,
    maxTokens: 48,
  });
  assert.match(await again.text(), /France/);
  assert.ok(again.end.cachedTokens > first.end.promptTokens, 'the second turn goes on from the first');
});

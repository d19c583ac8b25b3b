import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { loadModel } from '../../src/node/load-model.ts';
import { modelFetch } from '../../src/server/index.ts';

let model: LanguageModel;
before(async () => {
  model = await loadModel(undefined, { device: 'cpu', context: 512 });
});
after(() => model?.dispose());

const messages = [{ role: 'user' as const, content: 'What is the capital of France?' }];

test("OpenAI's client talks to an open model without a connection, streamed or not", async () => {
  const client = new OpenAI({
    baseURL: 'http://localhost/v1',
    apiKey: 'none',
    fetch: modelFetch(model, { id: 'toy' }),
  });
  const { data } = await client.models.list();
  assert.deepEqual(
    data.map(({ id }) => id),
    ['toy'],
  );
  const whole = await client.chat.completions.create({ model: 'toy', messages, max_tokens: 16 });
  assert.equal(whole.choices[0]?.message.content, 'The capital of France is Paris.');
  const stream = await client.chat.completions.create({
    model: 'toy',
    messages,
    max_tokens: 16,
    stream: true,
  });
  let text = '';
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
  assert.equal(text, 'The capital of France is Paris.');
  const missing = client.chat.completions.create({ model: 'other', messages });
  await assert.rejects(missing, (error) => error instanceof OpenAI.NotFoundError);
});

test('leaving a stream ends its answer; the model stays open, under its own name', async () => {
  const fetch = modelFetch(model);
  const ending = new AbortController();
  const body = JSON.stringify({ messages, stream: true, max_tokens: 400, ignore_eos: true });
  const headers = { 'content-type': 'application/json' };
  const url = 'http://localhost/v1/chat/completions';
  const response = await fetch(url, { method: 'POST', headers, body, signal: ending.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  ending.abort();
  await reader?.cancel().catch(() => {});
  while (model.activity.sequences.length > 0) await new Promise((resolve) => setImmediate(resolve));
  const listed = (await (await fetch('http://localhost/v1/models')).json()) as { data: { id: string }[] };
  assert.equal(listed.data[0]?.id, 'minimind2-small-q4_k_m');
  assert.equal(await model.chat(messages, { maxTokens: 16 }).text(), 'The capital of France is Paris.');
  // @ts-expect-error: the option's name is id
  const misnamed = () => modelFetch(model, { name: 'x' });
  assert.throws(misnamed, (error) => isRocmforgeError(error, 'OPTION_UNKNOWN'));
});

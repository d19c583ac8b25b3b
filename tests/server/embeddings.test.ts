import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import OpenAI from 'openai';
import { loadModel } from '../../src/node/load-model.ts';
import { ModelServer } from '../../src/server/index.ts';
import { fixture } from '../support/fixture.ts';
import { listen, tinySource } from '../support/test-server.ts';

/** What llama.cpp makes of the ids. */
interface Golden {
  readonly ids: number[];
  readonly vector: number[];
}

function golden(): Golden {
  const [line = ''] = readFileSync(fixture('families/bert.forced.jsonl'), 'utf8').split('\n');
  return JSON.parse(line) as Golden;
}

/** A client of a server with an encoder and a model that continues texts. */
async function client(t: TestContext): Promise<OpenAI> {
  const bert = {
    id: 'bert',
    created: 1_700_000_000,
    open: () => loadModel(fixture('families/bert.gguf'), { device: 'cpu', threads: 1 }),
  };
  const server = new ModelServer({ models: [bert, tinySource('tiny')], parallel: 2 });
  t.after(() => server[Symbol.asyncDispose]());
  return new OpenAI({ baseURL: `${await listen(t, server)}/v1`, apiKey: 'none', maxRetries: 0 });
}

test('embeddings are those of llama.cpp, of length 1, in both encodings', async (t) => {
  const openai = await client(t);
  const { ids, vector } = golden();
  const length = Math.hypot(...vector);
  for (const encoding of ['float', 'base64'] as const) {
    const made = await openai.embeddings.create({
      model: 'bert',
      input: [ids, [5, 6]],
      ...(encoding === 'float' && { encoding_format: encoding }),
    });
    assert.deepEqual(made.usage, { prompt_tokens: ids.length + 2, total_tokens: ids.length + 2 });
    assert.deepEqual(
      made.data.map(({ index }) => index),
      [0, 1],
    );
    const [first] = made.data;
    assert.equal(first?.embedding.length, vector.length);
    const worst = Math.max(
      ...vector.map((value, i) => Math.abs(value / length - (first?.embedding[i] ?? 9))),
    );
    assert.ok(worst < 1e-3, `${encoding}: ${worst} apart`);
  }
});

test('texts are tokenized; what cannot be is refused', async (t) => {
  const openai = await client(t);
  const one = await openai.embeddings.create({ model: 'bert', input: 'a b' });
  const ollama = await fetch(new URL('/api/embed', openai.baseURL), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bert:latest', input: ['a b', 'a b'] }),
  });
  const answered = await ollama.text();
  assert.equal(ollama.status, 200, answered);
  const { embeddings } = JSON.parse(answered) as { embeddings: number[][] };
  assert.deepEqual([embeddings.length, embeddings[0]], [2, one.data[0]?.embedding]);
  assert.equal(one.data.length, 1);
  const vectorOf = async (pooling: object) => {
    const made = await openai.embeddings.create({ model: 'bert', input: [3, 5, 7], ...pooling });
    return made.data[0]?.embedding;
  };
  assert.deepEqual(await vectorOf({ pooling: 'mean' }), await vectorOf({}));
  assert.notDeepEqual(await vectorOf({ pooling: 'cls' }), await vectorOf({}));
  const refused = [
    { model: 'tiny', input: 'x' },
    { model: 'bert', input: [] as string[] },
    { model: 'bert', input: 'x', dimensions: 7 },
    { model: 'bert', input: 'x', pooling: 'none' },
    { model: 'bert', input: Array.from({ length: 4096 }, () => 5) },
  ];
  for (const request of refused)
    await assert.rejects(openai.embeddings.create(request), OpenAI.BadRequestError);
  await assert.rejects(
    openai.completions.create({ model: 'bert', prompt: 'x' }),
    (error) => error instanceof OpenAI.BadRequestError && error.code === 'GENERATION_UNSUPPORTED',
  );
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import OpenAI from 'openai';
import { loadModel } from '../../src/node/load-model.ts';
import { PrometheusMetrics } from '../../src/node/prometheus-metrics.ts';
import { ModelServer } from '../../src/server/index.ts';
import { fixture } from '../support/fixture.ts';
import { listen, post, tinySource } from '../support/test-server.ts';
import { vectorServer } from '../support/vector-server.ts';

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
    { model: 'bert', input: 'x', dimensions: 33 },
    { model: 'bert', input: '' },
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

test("llama.cpp's endpoint has a vector per text, or per token without a pooling, and norms of all kinds", async (t) => {
  const server = vectorServer(t, {
    bert: { name: 'bert' },
    rows: { name: 'llama', pooling: 'none' },
    last: { name: 'llama', pooling: 'last' },
  });
  const made = async (body: object, path = '/embeddings') => {
    const response = await server.fetch(post(path, body));
    assert.equal(response.status, 200, path);
    return (await response.json()) as { index: number; embedding: number[][] }[];
  };
  const ids = [3, 5, 7];
  const rows = await made({ model: 'rows', content: [ids, [5, 6]] }, '/embedding');
  assert.deepEqual(
    rows.map(({ index, embedding }) => [index, embedding.length]),
    [
      [0, 3],
      [1, 2],
    ],
  );
  const [whole] = await made({ model: 'last', input: ids, embd_normalize: -1 });
  const raw = whole?.embedding[0] ?? [];
  assert.deepEqual(rows[0]?.embedding[2], raw);
  const norms = {
    0: Math.max(...raw.map(Math.abs)) / 32_760,
    1: raw.reduce((sum, value) => sum + Math.abs(value), 0),
    2: Math.hypot(...raw),
    3: Math.cbrt(raw.reduce((sum, value) => sum + Math.abs(value) ** 3, 0)),
  };
  for (const [norm, divisor] of Object.entries(norms)) {
    const [one] = await made({ model: 'last', input: ids, embd_normalize: Number(norm) });
    one?.embedding[0]?.forEach((value, i) => {
      const expected = (raw[i] ?? 0) / divisor;
      assert.ok(Math.abs(value - expected) <= 1e-5 * Math.max(1, Math.abs(expected)), norm);
    });
  }
  const cut = await made({ model: 'last', input: ids, dimensions: 4, embd_normalize: -1 });
  assert.deepEqual(cut[0]?.embedding, [raw.slice(0, 4)]);
  const mixed = await made({ model: 'bert', input: [[3, '#', 5], '$', [7]] });
  assert.deepEqual(
    mixed.map(({ embedding }) => embedding.length),
    [1, 1, 1],
  );
  assert.deepEqual(
    await made({ model: 'bert', input: [3, 5] }),
    await made({ model: 'bert', input: [[3, 5]] }),
  );
  for (const [path, body] of [
    ['/v1/embeddings', { model: 'rows', input: 'x' }],
    ['/embeddings', { model: 'bert' }],
    ['/embeddings', { model: 'bert', input: [[3], Array.from({ length: 4096 }, () => 5)] }],
  ] as const) {
    assert.equal((await server.fetch(post(path, body))).status, 400, JSON.stringify(body).slice(0, 50));
  }
});

test('embedded tokens and their steps are counted as llama.cpp’s server counts them', async (t) => {
  const bert = {
    id: 'bert',
    created: 1_700_000_000,
    open: () => loadModel(fixture('families/bert.gguf'), { device: 'cpu', threads: 1 }),
  };
  const server = new ModelServer({ models: [bert], metrics: new PrometheusMetrics() });
  t.after(() => server[Symbol.asyncDispose]());
  const embedded = await server.fetch(post('/v1/embeddings', { input: [golden().ids, golden().ids] }));
  assert.equal(embedded.status, 200, await embedded.text());
  const text = await (await server.fetch(new Request('http://server/metrics'))).text();
  const counted = (name: string) => Number(new RegExp(`^llamacpp:${name} (\\S+)$`, 'm').exec(text)?.[1]);
  assert.equal(counted('prompt_tokens_total'), 2 * golden().ids.length);
  assert.equal(counted('n_decode_total'), 2);
  assert.equal(counted('tokens_predicted_total'), 0);
});

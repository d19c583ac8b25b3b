import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModelInWorker } from '../../src/node/load-model-in-worker.ts';
import { ModelServer } from '../../src/server/index.ts';
import type { Timings } from '../../src/server/generation/timings.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { eventsOf, post, tinyServer, tinySource } from '../support/test-server.ts';

const BATCH = 16;
const PROMPT = Array.from({ length: 40 }, (_, at) => 3 + at);

interface Piece {
  readonly type?: string;
  readonly content?: string;
  readonly timings?: Timings;
  readonly prompt_progress?: { total: number; cache: number; processed: number; time_ms: number };
}

async function piecesOf(server: ModelServer, path: string, body: object): Promise<Piece[]> {
  const response = await server.fetch(
    post(path, { stream: true, temperature: 0, ignore_eos: true, ...body }),
  );
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return eventsOf(text) as Piece[];
}

test('a stream tells how much of its prompt has been computed', async (t) => {
  const models = [tinySource('tiny', { batch: BATCH })];
  const server = await tinyServer(t, { models });
  const body = { prompt: PROMPT, n_predict: 2, return_progress: true };
  const progressOf = async (path: string) =>
    (await piecesOf(server, path, body)).flatMap(({ prompt_progress }) => prompt_progress ?? []);
  const first = await progressOf('/completion');
  assert.deepEqual([first[0]?.cache, first[0]?.processed, first[0]?.time_ms], [0, 0, 0]);
  assert.equal(first.at(-1)?.processed, PROMPT.length);
  // At least a step for each batch, and a report for each step.
  assert.ok(first.length >= 1 + PROMPT.length / BATCH, JSON.stringify(first));
  for (const [at, { total, processed, time_ms }] of first.entries()) {
    assert.equal(total, PROMPT.length);
    assert.ok(at === 0 || processed > (first[at - 1]?.processed ?? 0));
    assert.ok(at === 0 || time_ms >= (first[at - 1]?.time_ms ?? 0));
  }
  const again = await progressOf('/v1/completions');
  assert.ok((again[0]?.cache ?? 0) > 0);
  assert.equal(again[0]?.processed, again[0]?.cache);
  assert.equal(again.at(-1)?.processed, PROMPT.length);
});

test('pieces of a stream have the timings so far, where the request wants them', async (t) => {
  const server = await tinyServer(t);
  // Tokens of whole characters: others are held back.
  const wanted = { timings_per_token: true, logit_bias: { 68: 50 } };
  const bodies = {
    '/completion': { prompt: PROMPT, n_predict: 3 },
    '/v1/completions': { prompt: PROMPT, max_tokens: 3 },
    '/v1/chat/completions': { messages: [{ role: 'user', content: 'hi' }], max_tokens: 3 },
    '/v1/responses': { input: 'hi', max_output_tokens: 3 },
  };
  for (const [path, body] of Object.entries(bodies)) {
    const pieces = await piecesOf(server, path, { ...body, ...wanted });
    const counts = pieces.flatMap(({ timings }) => timings?.predicted_n ?? []);
    assert.deepEqual([...new Set(counts)], [1, 2, 3], path);
    assert.ok(
      pieces.some(({ timings }) => (timings?.prompt_n ?? 0) > 0),
      path,
    );
    assert.ok(
      pieces.every(({ prompt_progress }) => prompt_progress === undefined),
      path,
    );
    const plain = await piecesOf(server, path, body);
    assert.equal(plain.slice(0, -1).filter(({ timings }) => timings).length, 0, path);
  }
});

test('progress comes from an engine on its own thread as well, and from answers with tools', async (t) => {
  const open = ({ signal }: { signal: AbortSignal }) =>
    loadModelInWorker(BUNDLED, { device: 'cpu', threads: 1, signal });
  const server = new ModelServer({ models: [{ id: 'minimind2', created: 1, open }] });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  const parameters = { type: 'object', properties: {} };
  const pieces = await piecesOf(server, '/v1/chat/completions', {
    messages: [{ role: 'user', content: 'What is the capital of France?' }],
    tools: [{ type: 'function', function: { name: 'look', parameters } }],
    tool_choice: 'required',
    max_tokens: 4,
    return_progress: true,
  });
  const progress = pieces.flatMap(({ prompt_progress }) => prompt_progress ?? []);
  assert.equal(progress[0]?.processed, 0);
  assert.equal(progress.at(-1)?.processed, progress[0]?.total);
});

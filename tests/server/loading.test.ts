import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { post, tinyServer, tinySource } from '../support/test-server.ts';

test('models are loaded and unloaded by requests, but not from under those that use them', async (t) => {
  const models = ['a', 'b'].map((id) => tinySource(id, {}, openNullDevice));
  const server = await tinyServer(t, { models, maxModels: 2 });
  const states = async () => {
    const response = await server.fetch(new Request('http://server/v1/models'));
    const { data } = (await response.json()) as { data: { state: string }[] };
    return data.map(({ state }) => state);
  };
  const ask = async (path: string, model: string) => {
    const response = await server.fetch(post(path, { model }));
    const { success, error } = (await response.json()) as { success?: boolean; error?: { code: string } };
    return [response.status, success ?? error?.code];
  };
  assert.deepEqual(await states(), ['ready', 'unloaded']);
  assert.deepEqual(await ask('/models/load', 'b'), [200, true]);
  assert.deepEqual(await states(), ['ready', 'ready']);
  const completion = { model: 'a', prompt: [1, 2, 3], max_tokens: 40, ignore_eos: true, stream: true };
  const stream = await server.fetch(post('/v1/completions', completion));
  assert.equal(stream.status, 200);
  assert.deepEqual(await ask('/models/unload', 'a'), [409, 'MODEL_BUSY']);
  await stream.text();
  assert.deepEqual(await ask('/models/unload', 'a'), [200, true]);
  assert.deepEqual(await ask('/models/unload', 'a'), [200, true], 'as often as it is asked for');
  assert.deepEqual(await states(), ['unloaded', 'ready']);
  const health = await server.fetch(new Request('http://server/health'));
  assert.equal(health.status, 200, 'a model that sleeps is there for the next request');
  const woken = await server.fetch(post('/v1/completions', { ...completion, stream: false }));
  assert.equal(woken.status, 200);
  assert.deepEqual(await ask('/models/load', 'z'), [404, 'model_not_found']);
});

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { ModelServer } from '../../src/server/index.ts';
import { eventsOf, post } from '../support/test-server.ts';
import { TINY, tinyBytes, withNaN } from '../support/tiny-model.ts';

const HEADED = { hasHead: true };

async function openBytes(bytes: Uint8Array): Promise<LanguageModel> {
  const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
  const device = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
  return LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES });
}

/** A server of a tiny model with a NaN in a tensor. */
async function brokenServer(t: TestContext, tensor: string, element: number): Promise<ModelServer> {
  const open = async () => openBytes(await withNaN(await tinyBytes('F32', [], HEADED), tensor, element));
  const server = new ModelServer({ models: [{ id: 'broken', created: 0, open }], parallel: 1 });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  return server;
}

const ASK = { prompt: 'hi', temperature: 0, max_tokens: 8, ignore_eos: true };

test('a model that computes no numbers answers with the code of that', async (t) => {
  const server = await brokenServer(t, 'blk.1.ffn_norm.weight', 3);
  for (const stream of [false, true]) {
    const response = await server.fetch(post('/v1/completions', { ...ASK, stream }));
    assert.equal(response.status, 500);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.equal(error.code, 'LOGITS_NOT_FINITE');
    assert.match(error.message, /layer 1/);
  }
  const messages = [{ role: 'user', content: 'hi' }];
  const message = await server.fetch(post('/v1/messages', { messages, max_tokens: 4 }));
  assert.equal(message.status, 500);
});

test('where it begins in the middle of a text, a stream ends with the error', async (t) => {
  await using sound = await openBytes(await tinyBytes('F32', [], HEADED));
  const ids: number[] = [];
  for await (const { token } of sound.generate('hi', { temperature: 0, maxTokens: 8, ignoreEnd: true })) {
    if (token) ids.push(token.id);
  }
  // Its embedding is read when it has been said.
  const late = ids.find((id, at) => at >= 2 && ids.indexOf(id) === at);
  assert.ok(late !== undefined && !sound.tokenizer.encode('hi').includes(late));
  const server = await brokenServer(t, 'token_embd.weight', late * TINY.width + 3);
  const response = await server.fetch(post('/v1/completions', { ...ASK, stream: true }));
  assert.equal(response.status, 200);
  const events = eventsOf(await response.text()) as { error?: { code: string } }[];
  assert.ok(events.length > 2, 'what was said before');
  assert.equal(events.at(-1)?.error?.code, 'LOGITS_NOT_FINITE');
});

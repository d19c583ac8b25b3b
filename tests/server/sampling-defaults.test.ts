import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanguageModel } from '../../src/engine/language-model.ts';
import type { GgufPlan } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { ModelServer, type ServerOptions } from '../../src/server/index.ts';
import { post } from '../support/test-server.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** What a file recommends. */
const RECOMMENDED: GgufPlan['metadata'] = [
  ['general.sampling.temp', { type: 'f32', value: 0 }],
  ['general.sampling.top_k', { type: 'i32', value: 7 }],
  ['general.sampling.sequence', { type: 'string', value: 'top_k;temperature' }],
];

function serverOf(sampling: ServerOptions['sampling'], metadata: GgufPlan['metadata'] = []): ModelServer {
  const open = async () => {
    const device = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
    const gguf = await tinyModel('F32', metadata);
    return LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES });
  };
  return new ModelServer({ models: [{ id: 'tiny', created: 1, open }], sampling });
}

async function answerOf(server: ModelServer, fields: object): Promise<string> {
  const body = { prompt: 'hi', n_predict: 8, ignore_eos: true, ...fields };
  const response = await server.fetch(post('/completion', body));
  const { content } = (await response.json()) as { content: string };
  return content;
}

async function paramsOf(server: ModelServer): Promise<Readonly<Record<string, unknown>>> {
  const response = await server.fetch(new Request('http://localhost/props'));
  const { default_generation_settings: settings } = (await response.json()) as {
    default_generation_settings: { params: Record<string, unknown> };
  };
  return settings.params;
}

const DRAWS = { temperature: 20, top_k: 0, top_p: 1, min_p: 0, seed: 3 };

test('requests that say nothing are sampled as the server says, others as they say', async () => {
  await using server = serverOf({ temperature: 20, topK: 0, topP: 1, minP: 0, seed: 3 });
  await using plain = serverOf(undefined);
  const drawn = await answerOf(plain, DRAWS);
  assert.equal(await answerOf(server, {}), drawn);
  const greedy = await answerOf(plain, { temperature: 0 });
  assert.notEqual(greedy, drawn);
  assert.equal(await answerOf(server, { temperature: 0 }), greedy);
  const { temperature, top_k, min_p, seed, samplers } = await paramsOf(server);
  assert.deepEqual({ temperature, top_k, min_p, seed }, { temperature: 20, top_k: 0, min_p: 0, seed: 3 });
  assert.ok(Array.isArray(samplers) && samplers.includes('dry'));
  assert.equal((await paramsOf(plain))['temperature'], 0.8);
});

test('a file’s own recommendation comes before the library’s defaults and behind the server’s', async () => {
  await using server = serverOf({ topK: 3 }, RECOMMENDED);
  await using plain = serverOf(undefined);
  assert.equal(await answerOf(server, {}), await answerOf(plain, { temperature: 0 }));
  assert.notEqual(await answerOf(server, DRAWS), await answerOf(plain, { temperature: 0 }));
  const { temperature, top_k, samplers } = await paramsOf(server);
  assert.deepEqual(
    { temperature, top_k, samplers },
    {
      temperature: 0,
      top_k: 3,
      samplers: ['top_k', 'temperature'],
    },
  );
});

test('conversations without a system message get the server’s', async () => {
  const open = async () => {
    const device = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
    const gguf = await tinyModel();
    return LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES });
  };
  const models = [{ id: 'tiny', created: 1, open }];
  await using server = new ModelServer({ models, systemPrompt: 'Be brief.' });
  await using plain = new ModelServer({ models });
  const prompt = async (of: ModelServer, ...messages: object[]) => {
    const response = await of.fetch(post('/apply-template', { messages }));
    return ((await response.json()) as { prompt: string }).prompt;
  };
  const [user, system] = [
    { role: 'user', content: 'Hi' },
    { role: 'system', content: 'Be brief.' },
  ];
  assert.equal(await prompt(server, user), await prompt(plain, system, user));
  assert.notEqual(await prompt(server, user), await prompt(plain, user));
  const own = { role: 'system', content: 'Be long.' };
  assert.equal(await prompt(server, own, user), await prompt(plain, own, user));
});

test('defaults that no text can have are refused at once', () => {
  assert.throws(() => serverOf({ topP: 2 }), { code: 'INVALID_ARGUMENT' });
  assert.throws(() => serverOf({ mirostat: 5 }), { code: 'INVALID_ARGUMENT' });
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ModelServer } from '../../src/server/index.ts';
import { post } from '../support/test-server.ts';
import { thinkingSource } from '../support/thinking-model.ts';

let server: ModelServer;
before(async () => {
  server = new ModelServer({ models: [thinkingSource()], parallel: 4, version: '1.2.3' });
  await server.loaded;
});
after(() => server?.[Symbol.asyncDispose]());

const MODEL = 'thinking:latest';
const MESSAGES = [{ role: 'user', content: 'What is the capital of France?' }];
const OPTIONS = { temperature: 0, num_predict: 12, ignore_eos: true };

interface Answer {
  readonly model: string;
  readonly done: boolean;
  readonly done_reason?: string;
  readonly response?: string;
  readonly thinking?: string;
  readonly message?: {
    readonly content: string;
    readonly thinking?: string;
    readonly tool_calls?: { readonly function: { readonly name: string; readonly arguments: object } }[];
  };
  readonly eval_count?: number;
  readonly prompt_eval_count?: number;
}

async function lines(path: string, body: object): Promise<Answer[]> {
  const response = await server.fetch(post(path, { model: MODEL, options: OPTIONS, ...body }));
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer);
}

async function answer(path: string, body: object): Promise<Answer> {
  const [only, ...others] = await lines(path, { stream: false, ...body });
  assert.deepEqual(others, []);
  return only ?? assert.fail('no answer');
}

test('a chat streams lines of JSON that add up to the answer in one piece, and options count', async () => {
  const whole = await answer('/api/chat', { messages: MESSAGES });
  assert.deepEqual(
    [whole.model, whole.done, whole.done_reason, whole.eval_count],
    ['thinking', true, 'length', 12],
  );
  assert.ok(whole.message?.thinking);
  const streamed = await lines('/api/chat', { messages: MESSAGES });
  assert.deepEqual(streamed.map(({ done }) => done).indexOf(true), streamed.length - 1);
  assert.equal(streamed.map(({ message }) => message?.thinking ?? '').join(''), whole.message.thinking);
  assert.equal(streamed.map(({ message }) => message?.content ?? '').join(''), whole.message.content);
  assert.equal(streamed.at(-1)?.prompt_eval_count, whole.prompt_eval_count);
  const short = await answer('/api/chat', { messages: MESSAGES, options: { ...OPTIONS, num_predict: 3 } });
  assert.equal(short.eval_count, 3);
});

test('think, format and tools are honoured', async () => {
  const unthinking = await answer('/api/chat', { messages: MESSAGES, think: false });
  assert.equal(unthinking.message?.thinking, undefined);
  assert.notEqual(unthinking.message?.content, '');
  const format = {
    type: 'object',
    properties: { n: { enum: [1, 2] } },
    required: ['n'],
    additionalProperties: false,
  };
  const held = { messages: MESSAGES, think: false, format, options: { num_predict: 60, seed: 1 } };
  const { message } = await answer('/api/chat', held);
  assert.ok([1, 2].includes((JSON.parse(message?.content ?? '') as { n: number }).n));
  const tool = {
    type: 'function',
    function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
  };
  const plain = await answer('/api/chat', { messages: MESSAGES, think: false });
  const call = {
    role: 'assistant',
    content: '',
    tool_calls: [{ function: { name: 'get_time', arguments: {} } }],
  };
  const result = { role: 'tool', tool_name: 'get_time', content: '12:00' };
  const called = await answer('/api/chat', {
    messages: [...MESSAGES, call, result],
    tools: [tool],
    think: false,
  });
  assert.ok((called.prompt_eval_count ?? 0) > (plain.prompt_eval_count ?? 0));
});

test('generate answers with the template, and continues a text as it is with raw', async () => {
  const { content: prompt } = MESSAGES[0] as { content: string };
  const asked = await answer('/api/generate', { prompt, think: false });
  const chat = await answer('/api/chat', { messages: MESSAGES, think: false });
  assert.equal(asked.response, chat.message?.content);
  const raw = await answer('/api/generate', { prompt, raw: true });
  const request = { prompt, temperature: 0, max_tokens: 12, ignore_eos: true };
  const completion = await server.fetch(post('/v1/completions', request));
  const { choices } = (await completion.json()) as { choices: { text: string }[] };
  assert.equal(raw.response, choices[0]?.text);
  const told = await answer('/api/generate', { prompt, think: false, system: 'Be brief.' });
  assert.ok((told.prompt_eval_count ?? 0) > (asked.prompt_eval_count ?? 0));
  assert.equal((await answer('/api/generate', {})).done_reason, 'load');
});

test('models are listed and described, and errors have the API’s shape', async () => {
  const get = async (path: string) => (await server.fetch(new Request(`http://server${path}`))).json();
  const { models } = (await get('/api/tags')) as { models: { name: string; details: { family: string } }[] };
  assert.deepEqual(
    models.map(({ name, details }) => [name, details.family]),
    [['thinking', 'llama']],
  );
  assert.equal(((await get('/api/ps')) as { models: object[] }).models.length, 1);
  assert.deepEqual(await get('/api/version'), { version: '1.2.3' });
  const show = (await (await server.fetch(post('/api/show', { model: MODEL }))).json()) as {
    capabilities: string[];
    model_info: Record<string, unknown>;
    template: string;
  };
  assert.deepEqual(show.capabilities.includes('completion'), true);
  assert.equal(show.model_info['general.architecture'], 'llama');
  assert.equal(show.model_info['tokenizer.ggml.tokens'], null);
  assert.match(show.template, /add_generation_prompt/);
  const cases: readonly [string, object, number, RegExp][] = [
    ['/api/chat', { model: 'other', messages: MESSAGES }, 404, /other/],
    ['/api/chat', { model: MODEL, messages: MESSAGES, options: { tfs_z: 0.5 } }, 400, /options\.tfs_z/],
    ['/api/chat', { model: MODEL, messages: MESSAGES, options: { mirostat: 5 } }, 400, /mirostat/],
    ['/api/generate', { model: MODEL, prompt: 'a', images: ['x'] }, 400, /images/],
    ['/api/embed', { model: MODEL, input: 'a' }, 400, /embedding model/],
  ];
  for (const [path, body, status, message] of cases) {
    const response = await server.fetch(post(path, body));
    const { error } = (await response.json()) as { error: string };
    assert.equal(response.status, status, error);
    assert.match(error, message);
  }
  const harmless = {
    model: MODEL,
    messages: MESSAGES,
    stream: false,
    options: { ...OPTIONS, num_ctx: 1024, num_thread: 8 },
  };
  const response = await server.fetch(post('/api/chat', harmless));
  assert.deepEqual([response.status, response.headers.get('x-rocmforge-ignored-fields')], [200, null]);
});

test('a text is filled in before its suffix by models that can, and by no others', async () => {
  const asked = { model: MODEL, prompt: 'hi', suffix: 'there', stream: false, options: OPTIONS };
  for (const [fields, message] of [
    [{}, /fill/i],
    [{ raw: true }, /suffix/],
    [{ system: 'be brief' }, /suffix/],
  ] as const) {
    const response = await server.fetch(post('/api/generate', { ...asked, ...fields }));
    assert.equal(response.status, 400);
    assert.match(((await response.json()) as { error: string }).error, message);
  }
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ServerOptions } from '../../src/server/index.ts';
import { eventsOf, post, tinyServer, tinySource } from '../support/test-server.ts';

// What options and fields of llama.cpp's server do that are off by default.

const USER = { role: 'user', content: 'hi' };
const GREEDY = { temperature: 0, ignore_eos: true };
/** The context of the tiny model. */
const CONTEXT = 128;

interface Answer {
  readonly content: string;
  readonly tokens: number[];
  readonly truncated: boolean;
  readonly tokens_predicted: number;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly __verbose?: { readonly prompt: string; readonly generation_settings: { n_predict: number } };
}

async function asking(t: TestContext, options: Partial<ServerOptions> = {}) {
  const server = await tinyServer(t, options);
  return async (path: string, body: object, status = 200): Promise<Answer> => {
    const response = await server.fetch(post(path, { ...GREEDY, ...body }));
    const text = await response.text();
    assert.equal(response.status, status, text);
    return JSON.parse(text) as Answer;
  };
}

test('prompt and text are within the context together', async (t) => {
  const ask = await asking(t);
  const { tokens_predicted, truncated } = await ask('/completion', { prompt: [1, 80, 81] });
  assert.deepEqual([tokens_predicted, truncated], [CONTEXT - 3, true]);
  const { usage } = await ask('/v1/completions', { prompt: [1, 80, 81], n_predict: -1 });
  assert.equal(usage.completion_tokens, CONTEXT - 3);
});

test('a context that is shifted goes on, and keeps what the request wants to keep', async (t) => {
  const ask = await asking(t, { shift: { keep: 0 } });
  const prompt = Array.from({ length: 100 }, (_, at) => 3 + at);
  const shifted = async (fields: object) => {
    const body = { prompt, n_predict: 80, return_tokens: true, ...fields };
    const { tokens, truncated } = await ask('/completion', body);
    assert.deepEqual([tokens.length, truncated], [80, true]);
    return tokens;
  };
  const plain = await shifted({});
  assert.deepEqual(await shifted({ n_keep: 0 }), plain);
  const kept = await shifted({ n_keep: 50 });
  assert.deepEqual(kept.slice(0, 28), plain.slice(0, 28));
  assert.notDeepEqual(kept, plain);
  // The whole prompt is more than half of the context.
  assert.deepEqual(await shifted({ n_keep: -1 }), await shifted({ n_keep: CONTEXT / 2 }));
  const { tokens_predicted } = await ask('/completion', { prompt });
  assert.equal(tokens_predicted, CONTEXT);
});

test('a text without a limit has the server’s', async (t) => {
  const ask = await asking(t, { defaultMaxTokens: 5 });
  assert.equal((await ask('/completion', { prompt: 'hi' })).tokens_predicted, 5);
  assert.equal((await ask('/completion', { prompt: 'hi', n_predict: 7 })).tokens_predicted, 7);
  assert.ok((await ask('/completion', { prompt: 'hi', n_predict: -1 })).tokens_predicted > 7);
  const messages = [USER];
  assert.equal((await ask('/v1/chat/completions', { messages })).usage.completion_tokens, 5);
  assert.equal((await ask('/v1/completions', { prompt: 'hi' })).usage.completion_tokens, 5);
});

test('an assistant’s last message is continued where the server is told to', async (t) => {
  const [plain, prefilling] = [await asking(t), await asking(t, { prefillAssistant: true })];
  const messages = [USER, { role: 'assistant', content: 'A' }];
  const tokens = async (ask: typeof plain, body: object) =>
    (await ask('/v1/chat/completions', { messages, max_tokens: 1, ...body })).usage.prompt_tokens;
  const continued = await tokens(plain, { continue_final_message: true });
  assert.ok((await tokens(plain, {})) > continued);
  assert.equal(await tokens(prefilling, {}), continued);
  assert.equal(await tokens(prefilling, { continue_final_message: false }), await tokens(plain, {}));
  const twice = { messages: [...messages, ...messages.slice(1)], max_tokens: 1 };
  await prefilling('/v1/chat/completions', twice, 400);
  await plain('/v1/chat/completions', twice);
});

test('an answer tells its prompt to those who want it to be verbose', async (t) => {
  const [plain, verbose] = [await asking(t), await asking(t, { verboseAnswers: true })];
  const body = { messages: [USER], max_tokens: 2 };
  assert.equal((await plain('/v1/chat/completions', body)).__verbose, undefined);
  assert.equal((await verbose('/v1/chat/completions', { ...body, verbose: false })).__verbose, undefined);
  for (const { __verbose: told } of [
    await plain('/v1/chat/completions', { ...body, verbose: true }),
    await verbose('/v1/chat/completions', body),
  ]) {
    assert.match(told?.prompt ?? '', /user: hi\n/);
    assert.equal(told?.generation_settings.n_predict, 2);
  }
});

test('a stream tells its prompt in the last piece of a choice', async (t) => {
  const server = await tinyServer(t, { verboseAnswers: true });
  const body = { messages: [USER], max_tokens: 2, stream: true };
  const response = await server.fetch(post('/v1/chat/completions', body));
  const events = eventsOf(await response.text()) as Answer[];
  assert.deepEqual(
    events.map(({ __verbose: told }) => told !== undefined),
    events.map((_, at) => at === events.length - 1),
  );
});

test('a prompt may have ids and texts in turns, or be the text of an object', async (t) => {
  const ask = await asking(t);
  const said = async (prompt: unknown) =>
    ask('/completion', { prompt, n_predict: 4, return_tokens: true }) as Promise<Answer | Answer[]>;
  const plain = await said('hi');
  assert.deepEqual(((await said({ prompt_string: 'hi' })) as Answer).tokens, (plain as Answer).tokens);
  const evaluated = (answer: unknown) => (answer as { tokens_evaluated: number }).tokens_evaluated;
  const { tokens } = await ask('/tokenize', { content: 'AB' });
  assert.equal(evaluated(await said([1, 'AB', 70, 71])), 3 + tokens.length);
  const several = (await said([[1, 80], 'hi', { prompt_string: 'hi' }, [1, 'A']])) as Answer[];
  assert.equal(several.length, 4);
  assert.deepEqual(several[1]?.tokens, several[2]?.tokens);
  const image = { prompt_string: 'hi', multimodal_data: ['AAAA'] };
  for (const prompt of [image, [image], [1, null], [1, {}]]) await ask('/completion', { prompt }, 400);
});

test('requests are carried out together in the form of Vertex AI', async (t) => {
  const ask = await asking(t);
  const body = {
    instances: [
      { '@requestFormat': 'chatCompletions', messages: [USER], max_tokens: 3, ...GREEDY },
      { '@requestFormat': '/tokenize', content: 'hi' },
      { '@requestFormat': 'completion', prompt: 'hi', stream: true },
    ],
  };
  const { predictions } = (await ask('/predict', body)) as unknown as { predictions: Answer[] };
  assert.equal(predictions[0]?.usage.completion_tokens, 3);
  assert.ok((predictions[1]?.tokens.length ?? 0) > 0);
  assert.match(JSON.stringify(predictions[2]), /"param":"stream"/);
  await ask('/predict', { instances: [{ '@requestFormat': 'predict' }] }, 400);
  await ask('/predict', { instances: [{ messages: [USER] }] }, 400);
});

test('the tokens of a response’s input are counted', async (t) => {
  const ask = await asking(t);
  const counted = (await ask('/v1/responses/input_tokens', { input: 'hi', instructions: 'A' })) as unknown;
  const answered = (await ask('/v1/responses', {
    input: 'hi',
    instructions: 'A',
    max_output_tokens: 1,
  })) as unknown as { usage: { input_tokens: number } };
  const { input_tokens } = answered.usage;
  assert.deepEqual(counted, { object: 'response.input_tokens', input_tokens });
});

test('models are loaded by name only where requests may not load them', async (t) => {
  const models = [tinySource('a'), tinySource('b')];
  const server = await tinyServer(t, { models, maxModels: 2, autoload: false });
  const tokenize = async (model: string) => {
    const response = await server.fetch(post('/tokenize', { content: 'hi', model }));
    return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
  };
  const props = async (query = '') =>
    (await (await server.fetch(new Request(`http://server/props${query}`))).json()) as Record<
      string,
      unknown
    >;
  assert.equal((await server.fetch(new Request('http://server/health'))).status, 200);
  const { role, max_instances, models_autoload, is_sleeping } = await props();
  assert.deepEqual([role, max_instances, models_autoload, is_sleeping], ['router', 2, false, true]);
  assert.deepEqual(await tokenize('b'), [400, 'MODEL_UNLOADED']);
  assert.equal((await server.fetch(post('/models/load', { model: 'b' }))).status, 200);
  assert.deepEqual(await tokenize('b'), [200, undefined]);
  assert.deepEqual(await tokenize('a'), [400, 'MODEL_UNLOADED']);
  assert.deepEqual(
    [(await props('?model=b'))['model_alias'], (await props('?model=b'))['is_sleeping']],
    ['b', false],
  );
  assert.equal((await server.fetch(new Request('http://server/props?model=c'))).status, 404);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf, post, tinyServer } from '../support/test-server.ts';

const A = 68;
const SAYS_A = { prompt: 'hi', temperature: 0, n_predict: 4, logit_bias: { [A]: 50 } };

interface Result {
  readonly content: string;
  readonly tokens: number[];
  readonly stop: boolean;
  readonly stop_type?: string;
  readonly stopping_word?: string;
}

test('a completion tells how it ended, whole, streamed and for several prompts', async (t) => {
  const server = await tinyServer(t);
  const ask = async (body: object) => {
    const response = await server.fetch(post('/completion', { ...SAYS_A, ...body }));
    assert.equal(response.status, 200, await response.clone().text());
    return response;
  };
  const ends: readonly [object, string, string][] = [
    [{}, 'AAAA', 'limit'],
    [{ stop: ['AAA'] }, '', 'word'],
    [{ logit_bias: { 2: 100 } }, '', 'eos'],
  ];
  for (const [fields, text, type] of ends) {
    const whole = (await (await ask(fields)).json()) as Result;
    assert.deepEqual([whole.content, whole.stop_type, whole.stop], [text, type, true]);
    const pieces = eventsOf(await (await ask({ ...fields, stream: true })).text()) as Result[];
    assert.equal(pieces.map(({ content }) => content).join(''), text);
    assert.deepEqual(pieces.map(({ stop }) => stop).indexOf(true), pieces.length - 1);
    assert.equal(pieces.at(-1)?.stop_type, type);
  }
  const stopped = (await (await ask({ stop: ['AAA'] })).json()) as Result;
  assert.equal(stopped.stopping_word, 'AAA');
  const several = (await (await ask({ prompt: ['hi', [1, 80]], n_predict: 2 })).json()) as Result[];
  assert.deepEqual(
    several.map(({ content }) => content),
    ['AA', 'AA'],
  );
});

test('a text that ignores ends has no token of an end, and says how they are forbidden', async (t) => {
  const server = await tinyServer(t);
  const body = { ...SAYS_A, logit_bias: { 2: 100, [A]: 50 }, ignore_eos: true, return_tokens: true };
  const response = await server.fetch(post('/completion', body));
  const result = (await response.json()) as Result & { generation_settings: { logit_bias: unknown[] } };
  assert.deepEqual([result.content, result.tokens], ['AAAA', [A, A, A, A]]);
  assert.deepEqual(result.generation_settings.logit_bias.at(-1), { token: 2, bias: null });
});

test('names of control tokens in a prompt are read as those, in completions of both APIs', async (t) => {
  const server = await tinyServer(t);
  const counts = async (path: string, prompt: string) => {
    const response = await server.fetch(post(path, { prompt, n_predict: 1 }));
    const said = (await response.json()) as { tokens_evaluated?: number; usage?: { prompt_tokens: number } };
    return said.tokens_evaluated ?? said.usage?.prompt_tokens ?? 0;
  };
  for (const path of ['/completion', '/v1/completions']) {
    assert.equal((await counts(path, 'hi</s>')) - (await counts(path, 'hi')), 1, path);
  }
});

test('the template is applied as in a chat, and the model described', async (t) => {
  const server = await tinyServer(t);
  const messages = [{ role: 'user', content: 'hi' }];
  const applied = await server.fetch(post('/apply-template', { messages }));
  const { prompt } = (await applied.json()) as { prompt: string };
  assert.equal(prompt, 'user: hi\n');
  const chat = await server.fetch(post('/v1/chat/completions', { messages, max_tokens: 1 }));
  const { usage } = (await chat.json()) as { usage: { prompt_tokens: number } };
  const completed = await server.fetch(post('/completion', { prompt, n_predict: 1 }));
  assert.equal(
    ((await completed.json()) as { tokens_evaluated: number }).tokens_evaluated,
    usage.prompt_tokens,
  );
  const props = (await (await server.fetch(new Request('http://server/props'))).json()) as {
    default_generation_settings: { n_ctx: number; params: Record<string, number> };
    chat_template: string;
    total_slots: number;
    eos_token: string;
  };
  assert.deepEqual(
    [props.default_generation_settings.n_ctx, props.total_slots, props.eos_token],
    [128, 4, '</s>'],
  );
  assert.equal(props.default_generation_settings.params.top_k, 40);
  assert.match(props.chat_template, /m\.role/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf, post, tinyServer } from '../support/test-server.ts';

const PATH = '/v1/completions';
const PROMPT = [1, 68, 69, 70, 71];
const GREEDY = { temperature: 0, ignore_eos: true };

interface Logprobs {
  readonly tokens: string[];
  readonly token_logprobs: (number | null)[];
  readonly top_logprobs: (Record<string, number> | null)[];
  readonly text_offset: number[];
}
interface Choice {
  readonly index: number;
  readonly text: string;
  readonly logprobs: Logprobs;
  readonly prompt_logprobs?: (Record<string, { logprob: number; rank: number }> | null)[];
  readonly finish_reason: string;
}
interface Answer {
  readonly choices: Choice[];
  readonly usage: Record<string, number>;
}

test('a prompt is echoed with the log-probabilities that generating its end has', async (t) => {
  const server = await tinyServer(t);
  const ask = async (body: object) => {
    const response = await server.fetch(post(PATH, { ...GREEDY, ...body }));
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as Answer;
  };
  const [made] = (await ask({ prompt: PROMPT, max_tokens: 4, logprobs: 2 })).choices;
  const tokens = made?.logprobs.tokens ?? [];
  const { tokens: all } = (await (
    await server.fetch(post('/tokenize', { content: 'ABCD', add_special: true }))
  ).json()) as { tokens: number[] };
  assert.ok(all.length > 2);
  // As lm-evaluation-harness asks for the likelihood of a text.
  const generated = await ask({ prompt: PROMPT, max_tokens: 4, logprobs: 0, echo: true });
  const [whole] = generated.choices;
  assert.ok(whole?.text.startsWith('ABCD'), whole?.text);
  assert.deepEqual(whole?.logprobs.tokens.slice(PROMPT.length), tokens);
  assert.deepEqual(whole?.logprobs.text_offset.slice(0, 6), [0, 0, 1, 2, 3, 4]);
  assert.equal(whole?.logprobs.token_logprobs[0], null);
  assert.deepEqual(whole?.logprobs.token_logprobs.slice(PROMPT.length), made?.logprobs.token_logprobs);
  const none = await ask({ prompt: PROMPT, max_tokens: 0, logprobs: 1, echo: true, prompt_logprobs: 2 });
  const [scored] = none.choices;
  assert.deepEqual([scored?.text, scored?.finish_reason], ['ABCD', 'length']);
  assert.equal(none.usage.completion_tokens, 0);
  assert.deepEqual(scored?.logprobs.token_logprobs, whole?.logprobs.token_logprobs.slice(0, PROMPT.length));
  for (const [at, id] of PROMPT.entries()) {
    if (at === 0) continue;
    const told: { logprob: number; rank: number } | undefined = scored?.prompt_logprobs?.[at]?.[id];
    assert.equal(told?.logprob, scored?.logprobs.token_logprobs[at]);
    const best = Math.max(...Object.values(scored?.logprobs.top_logprobs[at] ?? {}));
    assert.equal(told?.rank === 1, told?.logprob === best);
  }
});

test('what is scored is what is generated behind the same ids', async (t) => {
  const server = await tinyServer(t);
  const ask = async (body: object) =>
    (await (await server.fetch(post(PATH, { ...GREEDY, ...body }))).json()) as Answer;
  for (let length = 2; length <= PROMPT.length; length++) {
    const bias = { [PROMPT[length - 1] as number]: 100 };
    const next = { prompt: PROMPT.slice(0, length - 1), max_tokens: 1, logprobs: 0, logit_bias: bias };
    const [forced] = (await ask(next)).choices;
    const echo = { prompt: PROMPT.slice(0, length), max_tokens: 0, logprobs: 0, echo: true };
    const [scored] = (await ask(echo)).choices;
    const [own, other] = [scored?.logprobs.token_logprobs.at(-1), forced?.logprobs.token_logprobs[0]];
    assert.ok(Math.abs((own ?? 0) - (other ?? 1)) < 1e-4, `${own} and ${other}`);
  }
});

test('several prompts get the choices that each would get alone, in their order', async (t) => {
  const server = await tinyServer(t);
  const how = { temperature: 1, seed: 3, max_tokens: 5, n: 2, ignore_eos: true };
  const ask = async (prompt: unknown) =>
    (await (await server.fetch(post(PATH, { ...how, prompt }))).json()) as Answer;
  const prompts = [PROMPT, [1, 80], PROMPT.slice(0, 3)];
  const alone: string[] = [];
  for (const prompt of prompts) alone.push(...(await ask(prompt)).choices.map(({ text }) => text));
  const { choices, usage } = await ask(prompts);
  assert.deepEqual(
    choices.map(({ index }) => index),
    [0, 1, 2, 3, 4, 5],
  );
  assert.deepEqual(
    choices.map(({ text }) => text),
    alone,
  );
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [10, 30]);
  const texts = await ask(['hi', 'hi']);
  assert.equal(texts.choices[0]?.text, texts.choices[2]?.text);
  const streamed = await (await server.fetch(post(PATH, { ...how, prompt: prompts, stream: true }))).text();
  const parts = Array.from({ length: 6 }, () => '');
  for (const {
    choices: [part],
  } of eventsOf(streamed) as { choices: Choice[] }[]) {
    if (part) parts[part.index] += part.text;
  }
  assert.deepEqual(parts, alone);
  const many = await server.fetch(post(PATH, { prompt: Array.from({ length: 65 }, () => 'a'), n: 2 }));
  assert.equal(many.status, 400);
});

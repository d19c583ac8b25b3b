import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CATALOGUE } from '../../src/base/errors/catalogue.ts';
import { ModelServer } from '../../src/server/index.ts';
import { grammarAttacks } from '../support/grammar-attacks.ts';
import { ACTIVITY, bundledSource, listen } from '../support/test-server.ts';

/** What a request may be refused with that no text can be held to. */
const REFUSALS = [
  'CONTEXT_OVERFLOW',
  'GRAMMAR_INVALID',
  'GRAMMAR_TOO_COSTLY',
  'INVALID_ARGUMENT',
  'REQUEST_INVALID',
  'SCHEMA_UNSUPPORTED',
];

interface Answer {
  /** `code` is OpenAI's where it has one, `reason` is ours. */
  readonly error?: { readonly reason: string; readonly message: string };
  readonly choices?: readonly { readonly finish_reason: string; readonly message: { content: string } }[];
}

test('costly schemas, patterns and grammars are answered or refused, and leave nothing behind', async (t) => {
  const models = [bundledSource({ sequences: 4, context: 4096, threads: 1 })];
  const server = new ModelServer({ models, parallel: 4, metrics: ACTIVITY });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  const url = await listen(t, server);
  const chat = async (body: string) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    return { status: response.status, ...((await response.json()) as Answer) };
  };
  const request = { messages: [{ role: 'user', content: 'Say yes.' }], max_tokens: 4, seed: 1 };
  const unthinking = { max_tokens: 40, reasoning_budget_tokens: 0 };
  const fair = JSON.stringify({ ...request, ...unthinking, guided_choice: ['yes', 'no'] });
  for (const { name, body } of grammarAttacks(request)) {
    const { status, error, choices } = await chat(body);
    if (error) {
      assert.ok(REFUSALS.includes(error.reason), `${name}: ${error.reason}`);
      assert.equal(status, CATALOGUE[error.reason as keyof typeof CATALOGUE].status, name);
      assert.ok(error.message.length < 2000, `${name}: the error is short`);
      assert.doesNotMatch(error.message, /\.[jt]s\b|stack/, name);
    } else {
      for (const choice of choices ?? [])
        assert.match(choice.finish_reason, /^(stop|length|tool_calls)$/, name);
    }
    const after = await chat(fair);
    assert.equal(after.status, 200, `${name}: ${after.error?.message}`);
    assert.match(after.choices?.[0]?.message.content ?? '', /^(yes|no)$/, name);
  }
  assert.equal(await (await fetch(`${url}/metrics`)).json(), 0);
});

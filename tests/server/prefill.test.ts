import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ModelServer } from '../../src/server/index.ts';
import { eventsOf, post } from '../support/test-server.ts';
import { thinkingSource } from '../support/thinking-model.ts';

let server: ModelServer;
before(async () => {
  server = new ModelServer({ models: [thinkingSource()], parallel: 4 });
  await server.loaded;
});
after(() => server?.[Symbol.asyncDispose]());

const USER = { role: 'user', content: 'What is the capital of France?' };
const BEGUN = { role: 'assistant', content: 'The capital of France is' };
const GREEDY = { temperature: 0, max_tokens: 8, ignore_eos: true };

interface Chat {
  readonly choices: { message: Record<string, unknown> & { content: string }; finish_reason: string }[];
  readonly usage: { prompt_tokens: number };
}

async function ask(path: string, body: object): Promise<{ status: number; body: string }> {
  const response = await server.fetch(post(path, { ...GREEDY, ...body }));
  return { status: response.status, body: await response.text() };
}

const chat = async (body: object) => {
  const answer = await ask('/v1/chat/completions', body);
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body) as Chat;
};

/** What the model writes behind a text that is written down as its template would. */
async function behind(text: string): Promise<string> {
  const { body: tokens } = await ask('/tokenize', { content: text });
  const { tokens: prompt } = JSON.parse(tokens) as { tokens: number[] };
  const { body } = await ask('/v1/completions', { prompt });
  return (JSON.parse(body) as { choices: { text: string }[] }).choices[0]?.text ?? '';
}

const OPENED = `<|im_start|>user\n${USER.content}<|im_end|>\n<|im_start|>assistant\n<think>\n`;

test('an answer that the request begins is continued, its reasoning closed', async () => {
  const expected = await behind(`${OPENED}</think>${BEGUN.content}`);
  assert.notEqual(expected, '');
  const continued = { messages: [USER, BEGUN], continue_final_message: true, add_generation_prompt: false };
  const { choices } = await chat(continued);
  assert.equal(choices[0]?.message.content, expected);
  assert.equal(choices[0]?.message.reasoning_content, undefined);
  const message = JSON.parse((await ask('/v1/messages', { messages: [USER, BEGUN] })).body) as {
    content: { text: string }[];
  };
  assert.equal(message.content[0]?.text, expected);
  const thought = { ...BEGUN, reasoning_content: 'Paris.' };
  const thoughtful = await chat({ ...continued, messages: [USER, thought] });
  assert.equal(
    thoughtful.choices[0]?.message.content,
    await behind(`${OPENED}Paris.</think>${BEGUN.content}`),
  );
});

test('a conversation may be left without the beginning of an answer', async () => {
  const [whole, bare] = await Promise.all(
    [{}, { add_generation_prompt: false }].map((how) => chat({ messages: [USER], ...how })),
  );
  assert.ok((bare?.usage.prompt_tokens ?? 0) < (whole?.usage.prompt_tokens ?? 0));
});

test('what cannot be continued is refused by its field', async () => {
  const begun = { messages: [USER, BEGUN], continue_final_message: true };
  const cases: readonly [object, string][] = [
    [{ ...begun, messages: [USER] }, 'continue_final_message'],
    [{ ...begun, add_generation_prompt: true }, 'add_generation_prompt'],
    [{ ...begun, response_format: { type: 'json_object' } }, 'continue_final_message'],
    [{ functions: [{ name: 'a' }], tools: [{ type: 'function', function: { name: 'b' } }] }, 'functions'],
  ];
  for (const [fields, field] of cases) {
    const { status, body } = await ask('/v1/chat/completions', { messages: [USER], ...fields });
    const { error } = JSON.parse(body) as { error: { param: string } };
    assert.deepEqual([status, error.param], [400, field]);
  }
});

test('functions are called by their older names', async () => {
  const functions = [{ name: 'get_time', parameters: { type: 'object', additionalProperties: false } }];
  const wanted = {
    messages: [USER],
    functions,
    function_call: { name: 'get_time' },
    max_tokens: 60,
    ignore_eos: false,
    reasoning_budget_tokens: 0,
  };
  const { choices } = await chat(wanted);
  const [choice] = choices;
  assert.equal(choice?.finish_reason, 'function_call');
  assert.equal(choice?.message.tool_calls, undefined);
  const called = choice?.message.function_call as { name: string; arguments: string };
  assert.deepEqual([called.name, JSON.parse(called.arguments)], ['get_time', {}]);
  const streamed = eventsOf((await ask('/v1/chat/completions', { ...wanted, stream: true })).body) as {
    choices: { delta: { function_call?: { name?: string; arguments: string } } }[];
  }[];
  const parts = streamed.flatMap(({ choices: [part] }) => part?.delta.function_call ?? []);
  assert.equal(parts[0]?.name, 'get_time');
  assert.equal(parts.map((part) => part.arguments).join(''), called.arguments);
  const result = { role: 'function', name: 'get_time', content: '12:00' };
  const call = { role: 'assistant', content: null, function_call: { name: 'get_time', arguments: '{}' } };
  const next = await chat({ messages: [USER, call, result], functions });
  assert.ok(next.usage.prompt_tokens > (await chat({ messages: [USER], functions })).usage.prompt_tokens);
});

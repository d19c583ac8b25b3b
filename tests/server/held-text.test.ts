import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ModelServer } from '../../src/server/index.ts';
import { bundledSource, eventsOf, post } from '../support/test-server.ts';

const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 8 }, age: { type: 'integer', minimum: 0, maximum: 150 } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const GBNF = 'root ::= "a" root? "b"';
const ajv = new Ajv2020({ strict: false });
const isPerson = (text: string) => assert.ok(ajv.validate(SCHEMA, JSON.parse(text)), text);
const isObject = (text: string) => assert.match(text, /^\s*\{/);
const isNumber = (text: string) => assert.match(text, /^[0-9]{3}-[0-9]{4}$/);
const isChoice = (text: string) => assert.ok(['yes', 'no'].includes(text), text);
const isNested = (text: string) => assert.match(text, /^a+b*$/);

let server: ModelServer;
before(async () => {
  server = new ModelServer({
    models: [bundledSource({ sequences: 4, context: 1024, threads: 1 })],
    parallel: 4,
  });
  await server.loaded;
});
after(() => server?.[Symbol.asyncDispose]());

const MESSAGES = [{ role: 'user', content: 'Describe somebody.' }];

/** Thoughts would fill the little room. */
const UNTHINKING = { reasoning_budget_tokens: 0 };

/** The bundled model's token of `<`, with which `<think>` begins. */
const OPENS_THOUGHT = 30;
/** Those that begin a line, behind which it indents as far as it may. */
const LINE_BREAKS = [201, 1187, 1792, 2298, 3231, 3352, 5188, 6191, 6268];

async function send(path: string, body: object): Promise<{ status: number; text: string }> {
  const response = await server.fetch(post(path, body));
  return { status: response.status, text: await response.text() };
}

/** The text of an answer, whatever the API. */
async function answer(path: string, body: object): Promise<string> {
  const { status, text } = await send(path, { seed: 1, max_tokens: 400, ...body });
  assert.equal(status, 200, text);
  const [choice] = (JSON.parse(text) as { choices: { message?: { content: string }; text?: string }[] })
    .choices;
  return choice?.message?.content ?? choice?.text ?? assert.fail(text);
}

const FORMS: readonly (readonly [object, (text: string) => void])[] = [
  [{ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } } }, isPerson],
  [{ response_format: { type: 'json_object', schema: SCHEMA } }, isPerson],
  [{ response_format: { type: 'json_object' }, max_tokens: 40 }, isObject],
  [{ json_schema: SCHEMA }, isPerson],
  [{ guided_json: SCHEMA }, isPerson],
  [{ guided_json: JSON.stringify(SCHEMA) }, isPerson],
  [{ guided_regex: '[0-9]{3}-[0-9]{4}' }, isNumber],
  [{ guided_choice: ['yes', 'no'] }, isChoice],
  [{ guided_grammar: GBNF, max_tokens: 20 }, isNested],
  [{ grammar: GBNF, max_tokens: 20 }, isNested],
  [{ structured_outputs: { json: SCHEMA } }, isPerson],
  [{ structured_outputs: { json_object: true }, max_tokens: 40 }, isObject],
  [{ structured_outputs: { regex: '[0-9]{3}-[0-9]{4}' } }, isNumber],
  [{ structured_outputs: { choice: ['yes', 'no'] } }, isChoice],
  [{ structured_outputs: { grammar: GBNF }, max_tokens: 20 }, isNested],
];

test('chat and completions are held to what vLLM, llama.cpp and OpenAI call it', async () => {
  await Promise.all(
    FORMS.map(async ([form, check]) => {
      check(await answer('/v1/chat/completions', { messages: MESSAGES, ...UNTHINKING, ...form }));
      check(await answer('/v1/completions', { prompt: 'Somebody:', ...form }));
    }),
  );
});

test('messages and responses are held to their formats', async () => {
  const format = { type: 'json_schema', schema: SCHEMA };
  // Its likeliest answers do not think.
  const temperature = 0;
  const output_config = { format };
  const message = await send('/v1/messages', {
    messages: MESSAGES,
    max_tokens: 400,
    temperature,
    output_config,
  });
  const { content } = JSON.parse(message.text) as { content: { type: string; text: string }[] };
  isPerson(content.flatMap(({ type, text }) => (type === 'text' ? [text] : [])).join(''));
  const text = { format: { ...format, name: 'person' } };
  const input = 'Describe somebody.';
  const response = await send('/v1/responses', { input, max_output_tokens: 400, temperature, text });
  const { output } = JSON.parse(response.text) as { output: { type: string; content: { text: string }[] }[] };
  const said = output.filter(({ type }) => type === 'message');
  isPerson(said.flatMap((item) => item.content.map((part) => part.text)).join(''));
});

test('what says two things, or what nobody reads, is refused', async () => {
  for (const [fields, told] of [
    [{ guided_regex: 'a', guided_choice: ['a'] }, /guided_choice/],
    [{ json_schema: {}, response_format: { type: 'json_object' } }, /json_schema/],
    [{ structured_outputs: { structural_tag: '{}' } }, /structural_tag/],
    [{ guided_json: '{' }, /guided_json/],
    [{ guided_choice: [] }, /guided_choice/],
    [{ logit_bias: Object.fromEntries(Array.from({ length: 10_001 }, (_, id) => [id, 0])) }, /10000/],
  ] as const) {
    const { status, text } = await send('/v1/chat/completions', { messages: MESSAGES, ...fields });
    assert.equal(status, 400, text);
    assert.match(text, told);
  }
});

test("a bad schema's words come in its own error only", async () => {
  const bad = { type: 'object', properties: { SECRET: { $ref: 'https://secret.example/a' } } };
  const worse = { type: 'OTHER' };
  const ask = (schema: object) =>
    send('/v1/chat/completions', { messages: MESSAGES, max_tokens: 400, json_schema: schema });
  const answers = await Promise.all([bad, worse, SCHEMA, bad, worse, SCHEMA].map(ask));
  for (const [index, { status, text }] of answers.entries()) {
    const isGood = index % 3 === 2;
    assert.equal(status, isGood ? 200 : 400, text);
    if (index % 3 !== 0) assert.doesNotMatch(text, /SECRET|secret/);
    if (index % 3 !== 1) assert.doesNotMatch(text, /OTHER/);
    assert.doesNotMatch(text, /\.[jt]s:|node:/);
  }
  assert.match(answers[0]?.text ?? '', /SCHEMA_UNSUPPORTED/);
});

test('text that is cut by its length says so', async () => {
  for (const max_tokens of [1, 2, 3]) {
    const { status, text } = await send('/v1/chat/completions', {
      messages: MESSAGES,
      max_tokens,
      json_schema: SCHEMA,
    });
    assert.equal(status, 200, text);
    const { choices } = JSON.parse(text) as { choices: { finish_reason: string }[] };
    assert.equal(choices[0]?.finish_reason, 'length');
  }
  const streamed = await send('/v1/chat/completions', {
    messages: MESSAGES,
    max_tokens: 2,
    json_schema: SCHEMA,
    stream: true,
  });
  const ends = (eventsOf(streamed.text) as { choices: { finish_reason: string | null }[] }[]).map(
    ({ choices }) => choices[0]?.finish_reason,
  );
  assert.equal(ends.at(-1), 'length');
});

test('a held answer thinks before it as the template has it, and not where reasoning is turned off', async () => {
  // The model would begin to think with its first token, and with every other.
  const eager = {
    logit_bias: { [OPENS_THOUGHT]: 100 },
    guided_choice: ['yes', 'no'],
    max_tokens: 12,
    seed: 1,
  };
  const ask = async (fields: object) => {
    const { status, text } = await send('/v1/chat/completions', { messages: MESSAGES, ...eager, ...fields });
    assert.equal(status, 200, text);
    const { choices, usage } = JSON.parse(text) as {
      choices: { message: { content: string; reasoning_content?: string }; finish_reason: string }[];
      usage: { completion_tokens: number };
    };
    const [choice] = choices;
    return { ...choice?.message, ends: choice?.finish_reason, tokens: usage.completion_tokens };
  };
  const thought = await ask({});
  assert.equal(thought.ends, 'length');
  assert.ok(thought.reasoning_content, JSON.stringify(thought));
  for (const fields of [
    { reasoning_budget_tokens: 0 },
    { reasoning_effort: 'none' },
    { chat_template_kwargs: { enable_thinking: false } },
  ]) {
    const said = await ask(fields);
    isChoice(said.content ?? '');
    assert.equal(said.reasoning_content, undefined);
    assert.ok(said.tokens < 6, `${JSON.stringify(fields)}: ${said.tokens} tokens`);
  }
});

test('a text that comes to a dead end is a typed error, whole and streamed', async () => {
  // 33 names there are, which is known when the last of them is written: a schema tells no number of names.
  const schema = {
    type: 'object',
    patternProperties: { '^[a-k][xyz]$': { const: 1 } },
    additionalProperties: false,
    minProperties: 34,
  };
  const logit_bias = Object.fromEntries(LINE_BREAKS.map((id) => [id, -100]));
  const ask = {
    messages: MESSAGES,
    ...UNTHINKING,
    max_tokens: 800,
    seed: 1,
    logit_bias,
    json_schema: schema,
  };
  const isDeadEnd = (text: string): void => assert.match(text, /the text cannot continue: no token/);
  const whole = await send('/v1/chat/completions', ask);
  assert.equal(whole.status, 422, whole.text);
  isDeadEnd(whole.text);
  assert.match(whole.text, /GRAMMAR_DEAD_END/);
  const streamed = await send('/v1/chat/completions', { ...ask, stream: true });
  assert.equal(streamed.status, 200);
  const events = eventsOf(streamed.text) as { error?: { code: string }; choices?: object[] }[];
  assert.ok(events.filter(({ choices }) => choices).length > 33, streamed.text);
  assert.equal(events.at(-1)?.error?.code, 'GRAMMAR_DEAD_END');
  const message = {
    messages: MESSAGES,
    max_tokens: 800,
    temperature: 0,
    thinking: { type: 'disabled' },
    output_config: { format: { type: 'json_schema', schema } },
  };
  const said = await send('/v1/messages', message);
  assert.equal(said.status, 422, said.text);
  isDeadEnd(said.text);
  // Others go on.
  isChoice(
    await answer('/v1/chat/completions', { ...ask, json_schema: undefined, guided_choice: ['yes', 'no'] }),
  );
});

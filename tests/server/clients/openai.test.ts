import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { ANSWER, KEY, MODEL, QUESTION, sharedServer, WEATHER_PARAMETERS } from './shared-server.ts';
import { until } from '../../support/hung.ts';

const shared = sharedServer();
const messages = [{ role: 'user' as const, content: QUESTION }];
const greedy = { model: MODEL, temperature: 0, max_tokens: 40 };
/** The model's own end, forbidden. */
const NO_END = { 2: -100 };
const tools = [
  { type: 'function' as const, function: { name: 'get_weather', parameters: WEATHER_PARAMETERS } },
  {
    type: 'function' as const,
    function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
  },
];

function client(options: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI {
  return new OpenAI({ baseURL: `${shared.url}/v1`, apiKey: KEY, maxRetries: 0, ...options });
}

test('chat, in one piece and streamed', async () => {
  const openai = client();
  const whole = await openai.chat.completions.create({ ...greedy, messages });
  assert.match(whole.choices[0]?.message.content ?? '', ANSWER);
  assert.equal(whole.choices[0]?.finish_reason, 'stop');
  const stream = await openai.chat.completions.create({
    ...greedy,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage;
  }
  assert.equal(text, whole.choices[0]?.message.content);
  assert.equal(usage?.completion_tokens, whole.usage?.completion_tokens);
});

test('completions, log-probabilities, several choices, stop strings', async () => {
  const openai = client();
  const completion = await openai.completions.create({
    ...greedy,
    prompt: 'The capital of France is',
    logit_bias: NO_END,
    logprobs: 2,
  });
  assert.ok((completion.choices[0]?.logprobs?.tokens?.length ?? 0) > 0);
  const chat = await openai.chat.completions.create({
    ...greedy,
    messages,
    n: 2,
    logprobs: true,
    top_logprobs: 4,
    stop: ' is',
  });
  assert.equal(chat.choices.length, 2);
  for (const { message, logprobs, finish_reason: reason } of chat.choices) {
    assert.ok(!message.content?.includes(' is'));
    assert.equal(reason, 'stop');
    assert.ok(logprobs?.content?.every(({ top_logprobs: top, logprob }) => top.length === 4 && logprob <= 0));
  }
});

test('responses, in one piece and streamed', async () => {
  const openai = client();
  const request = { model: MODEL, input: QUESTION, temperature: 0, max_output_tokens: 40 };
  const whole = await openai.responses.create(request);
  assert.match(whole.output_text, ANSWER);
  assert.equal(whole.status, 'completed');
  const stream = openai.responses.stream(request);
  let text = '';
  stream.on('response.output_text.delta', ({ delta }) => {
    text += delta;
  });
  const last = await stream.finalResponse();
  assert.equal(text, whole.output_text);
  assert.equal(last.output_text, whole.output_text);
});

test('answers of a schema, and of JSON at all', async () => {
  const openai = client();
  const schema = { name: 'weather', strict: true, schema: WEATHER_PARAMETERS };
  const chat = await openai.chat.completions.create({
    ...greedy,
    messages,
    response_format: { type: 'json_schema', json_schema: schema },
  });
  const value = JSON.parse(chat.choices[0]?.message.content ?? '') as { city: string; days: number };
  assert.match(value.city, /^(?:Paris|Rome)$/);
  assert.ok(value.days >= 1 && value.days <= 9);
  const format = { type: 'json_schema' as const, ...schema };
  const response = await openai.responses.create({
    model: MODEL,
    input: QUESTION,
    temperature: 0,
    text: { format },
  });
  assert.deepEqual(Object.keys(JSON.parse(response.output_text)), ['city', 'days']);
  const any = await openai.chat.completions.create({
    ...greedy,
    max_tokens: 200,
    messages: [{ role: 'user', content: 'Reply with {"answer": "Paris"} only.' }],
    response_format: { type: 'json_object' },
  });
  if (any.choices[0]?.finish_reason === 'stop') {
    assert.equal(typeof JSON.parse(any.choices[0].message.content ?? ''), 'object');
  } else assert.match(any.choices[0]?.message.content ?? '', /^\s*\{/);
});

test('parse reads answers of a schema, in chats and in responses', async () => {
  const openai = client();
  const schema = { name: 'weather', strict: true, schema: WEATHER_PARAMETERS };
  const chat = await openai.chat.completions.parse({
    ...greedy,
    messages,
    response_format: { type: 'json_schema', json_schema: schema },
  });
  const value = chat.choices[0]?.message.content ?? '';
  const response = await openai.responses.parse({
    model: MODEL,
    input: QUESTION,
    temperature: 0,
    text: { format: { type: 'json_schema', ...schema } },
  });
  assert.deepEqual(JSON.parse(response.output_text), JSON.parse(value));
  let text = '';
  const completions = await openai.completions.create({
    ...greedy,
    max_tokens: 6,
    prompt: 'Water',
    stream: true,
  });
  for await (const chunk of completions) text += chunk.choices[0]?.text ?? '';
  const whole = await openai.completions.create({ ...greedy, max_tokens: 6, prompt: 'Water' });
  assert.equal(text, whole.choices[0]?.text);
});

test('a call of a tool that is named, streamed and in one piece, and its result', async () => {
  const openai = client();
  const request = {
    ...greedy,
    max_tokens: 100,
    messages,
    tools,
    tool_choice: { type: 'function' as const, function: { name: 'get_weather' } },
  };
  const whole = await openai.chat.completions.create(request);
  const [choice] = whole.choices;
  assert.equal(choice?.finish_reason, 'tool_calls');
  const [call] = choice.message.tool_calls ?? [];
  assert.ok(call?.type === 'function');
  assert.equal(call.function.name, 'get_weather');
  assert.deepEqual(Object.keys(JSON.parse(call.function.arguments)), ['city', 'days']);
  const runner = openai.chat.completions.stream(request);
  let pieces = 0;
  runner.on('tool_calls.function.arguments.delta', () => pieces++);
  const streamed = await runner.finalChatCompletion();
  const [again] = streamed.choices[0]?.message.tool_calls ?? [];
  assert.ok(again?.type === 'function');
  assert.deepEqual(again.function.arguments, call.function.arguments);
  assert.ok(pieces > 1, 'arguments come in pieces');
  const answered = await openai.chat.completions.create({
    ...greedy,
    tools,
    messages: [
      ...messages,
      choice.message,
      { role: 'tool', tool_call_id: call.id, content: '{"degrees": 21}' },
    ],
  });
  assert.ok(answered.choices[0]);
});

test('tool_choice required calls some tool, none calls none, and responses call alike', async () => {
  const openai = client();
  const request = { ...greedy, messages, tools };
  const required = await openai.chat.completions.create({
    ...request,
    max_tokens: 300,
    tool_choice: 'required',
    parallel_tool_calls: false,
  });
  assert.equal(required.choices[0]?.message.tool_calls?.length, 1);
  const none = await openai.chat.completions.create({ ...request, tool_choice: 'none' });
  assert.equal(none.choices[0]?.message.tool_calls, undefined);
  const response = await openai.responses.create({
    model: MODEL,
    input: QUESTION,
    temperature: 0,
    tools: [{ type: 'function', name: 'get_weather', parameters: WEATHER_PARAMETERS, strict: true }],
    tool_choice: { type: 'function', name: 'get_weather' },
  });
  const call = response.output.find((item) => item.type === 'function_call');
  assert.ok(call);
  assert.equal(call.name, 'get_weather');
  assert.match(String((JSON.parse(call.arguments) as { city: string }).city), /^(?:Paris|Rome)$/);
});

test('errors have their classes', async () => {
  const openai = client();
  await assert.rejects(client({ apiKey: 'wrong' }).models.list(), OpenAI.AuthenticationError);
  await assert.rejects(
    openai.chat.completions.create({ ...greedy, model: 'other', messages }),
    OpenAI.NotFoundError,
  );
  await assert.rejects(openai.embeddings.create({ model: MODEL, input: 'x' }), OpenAI.BadRequestError);
  await assert.rejects(
    openai.chat.completions.create({ ...greedy, temperature: -1, messages }),
    (error) => error instanceof OpenAI.BadRequestError && error.code === 'REQUEST_INVALID',
  );
  const wrong = { name: 'x', schema: { type: 'nothing' } };
  await assert.rejects(
    openai.chat.completions.create({
      ...greedy,
      messages,
      response_format: { type: 'json_schema', json_schema: wrong },
    }),
    (error) => error instanceof OpenAI.BadRequestError && error.code === 'GRAMMAR_INVALID',
  );
  const { data } = await openai.models.list();
  assert.deepEqual(
    data.map(({ id }) => id),
    [MODEL],
  );
  assert.deepEqual((await openai.models.retrieve(MODEL)).id, MODEL);
  await assert.rejects(openai.models.retrieve('other'), OpenAI.NotFoundError);
});

test('a client that stops reading ends the generation', async () => {
  const openai = client();
  const stream = await openai.chat.completions.create({
    model: MODEL,
    max_tokens: 900,
    messages: [{ role: 'user', content: 'Tell me a long story.' }],
    stream: true,
  });
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
  const headers = { authorization: `Bearer ${KEY}` };
  await until(
    () => 'the request is not over',
    async () => {
      const response = await fetch(`${shared.url}/metrics`, { headers });
      return (await response.json()) === 0;
    },
  );
});

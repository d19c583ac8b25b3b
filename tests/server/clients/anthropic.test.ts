import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { ANSWER, KEY, MODEL, QUESTION, sharedServer, WEATHER_PARAMETERS } from './shared-server.ts';

const shared = sharedServer();
const messages = [{ role: 'user' as const, content: QUESTION }];
const greedy = { model: MODEL, temperature: 0, max_tokens: 40, messages };

function client(apiKey = KEY): Anthropic {
  return new Anthropic({ baseURL: shared.url, apiKey, maxRetries: 0 });
}

test('a message, in one piece and streamed', async () => {
  const anthropic = client();
  const whole = await anthropic.messages.create(greedy);
  const [block] = whole.content;
  assert.ok(block?.type === 'text');
  assert.match(block.text, ANSWER);
  assert.equal(whole.stop_reason, 'end_turn');
  let text = '';
  const stream = anthropic.messages.stream(greedy).on('text', (piece) => {
    text += piece;
  });
  const last = await stream.finalMessage();
  assert.equal(text, block.text);
  assert.deepEqual(last.content, whole.content);
  assert.equal(last.usage.output_tokens, whole.usage.output_tokens);
});

test('the system prompt, the limit and stop sequences are obeyed', async () => {
  const anthropic = client();
  const short = await anthropic.messages.create({ ...greedy, max_tokens: 2, system: 'You are a poet.' });
  assert.equal(short.stop_reason, 'max_tokens');
  assert.equal(short.usage.output_tokens, 2);
  const stopped = await anthropic.messages.create({ ...greedy, stop_sequences: [' of'] });
  assert.deepEqual([stopped.stop_reason, stopped.stop_sequence], ['stop_sequence', ' of']);
  const count = await anthropic.messages.countTokens({ model: MODEL, messages });
  const { usage } = await anthropic.messages.create(greedy);
  assert.equal(count.input_tokens, usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
});

test('a tool is called, streamed and in one piece, and its result is taken', async () => {
  const anthropic = client();
  const request = {
    ...greedy,
    max_tokens: 100,
    tools: [{ name: 'get_weather', input_schema: { ...WEATHER_PARAMETERS, type: 'object' as const } }],
    tool_choice: { type: 'tool' as const, name: 'get_weather' },
  };
  const whole = await anthropic.messages.create(request);
  assert.equal(whole.stop_reason, 'tool_use');
  const [call] = whole.content;
  assert.ok(call?.type === 'tool_use');
  assert.deepEqual(Object.keys(call.input as object), ['city', 'days']);
  const streamed = await anthropic.messages.stream(request).finalMessage();
  const [again] = streamed.content;
  assert.ok(again?.type === 'tool_use');
  assert.deepEqual(again.input, call.input);
  const answered = await anthropic.messages.create({
    ...request,
    tool_choice: { type: 'none' },
    messages: [
      ...messages,
      { role: 'assistant', content: whole.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '21 degrees' }] },
    ],
  });
  assert.equal(answered.type, 'message');
});

test('errors have their classes', async () => {
  await assert.rejects(client('wrong').messages.create(greedy), Anthropic.AuthenticationError);
  await assert.rejects(client().messages.create({ ...greedy, model: 'other' }), Anthropic.NotFoundError);
  const stop_sequences = new Array<string>(17).fill('x');
  await assert.rejects(client().messages.create({ ...greedy, stop_sequences }), (error: unknown) => {
    assert.ok(error instanceof Anthropic.BadRequestError && error.requestID);
    return (error.error as { request_id?: string }).request_id === error.requestID;
  });
});

test('a tool that failed says so, text comes in blocks, and fields of blocks are read or told', async () => {
  const anthropic = client();
  const count = async (is_error: boolean, content: string) => {
    const { input_tokens: tokens } = await anthropic.messages.countTokens({
      model: MODEL,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        ...messages,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error, content }] },
      ],
    });
    return tokens;
  };
  assert.equal(await count(true, 'no such city'), await count(false, 'Error: no such city'));
  assert.ok((await count(true, 'no such city')) > (await count(false, 'no such city')));
  const odd = [
    { type: 'text', text: 'hi', colour: 1, citations: null, cache_control: { type: 'ephemeral' } },
  ];
  const { response } = await anthropic.messages
    .create({ ...greedy, max_tokens: 1, messages: [{ role: 'user', content: odd as never }] })
    .withResponse();
  assert.equal(response.headers.get('x-rocmforge-ignored-fields'), 'messages.*.content.*.colour');
  assert.equal(response.headers.get('request-id'), response.headers.get('x-request-id'));
  const search = { type: 'web_search_20250305', name: 'web_search' } as const;
  await assert.rejects(anthropic.messages.create({ ...greedy, tools: [search] }), /only tools of the client/);
});

test('streams have pings, and models are listed in the form of the API', async () => {
  const anthropic = client();
  const response = await anthropic.messages.create({ ...greedy, max_tokens: 2, stream: true }).asResponse();
  assert.match(await response.text(), /\nevent: ping\ndata: {"type":"ping"}\n/);
  const listed: Anthropic.ModelInfo[] = [];
  for await (const model of anthropic.models.list()) listed.push(model);
  assert.deepEqual(
    listed.map(({ id, type, max_input_tokens: most }) => [id, type, most]),
    [[MODEL, 'model', 1024]],
  );
  assert.deepEqual(await anthropic.models.retrieve(MODEL), listed[0]);
  await assert.rejects(anthropic.models.retrieve('other'), (error: unknown) => {
    return error instanceof Anthropic.NotFoundError && error.type === 'not_found_error';
  });
});

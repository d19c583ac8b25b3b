import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { ChatOpenAI, OpenAI } from '@langchain/openai';
import { ANSWER, KEY, MODEL, QUESTION, sharedServer, WEATHER_PARAMETERS } from './shared-server.ts';

const shared = sharedServer();

function chat(maxTokens = 60): ChatOpenAI {
  const configuration = { baseURL: `${shared.url}/v1` };
  return new ChatOpenAI({
    model: MODEL,
    temperature: 0,
    maxTokens,
    apiKey: KEY,
    maxRetries: 0,
    configuration,
  });
}

test('an answer, in one piece and streamed', async () => {
  const messages = [new SystemMessage('You are a helpful assistant'), new HumanMessage(QUESTION)];
  const whole = await chat().invoke(messages);
  assert.match(whole.text, ANSWER);
  let text = '';
  for await (const chunk of await chat().stream(messages)) text += chunk.text;
  assert.equal(text, whole.text);
});

test('texts are continued, and chats answered by responses', async () => {
  const configuration = { baseURL: `${shared.url}/v1` };
  const how = { model: MODEL, temperature: 0, maxTokens: 8, apiKey: KEY, maxRetries: 0, configuration };
  const completions = new OpenAI(how);
  const whole = await completions.invoke('The capital of France is');
  let text = '';
  for await (const piece of await completions.stream('The capital of France is')) text += piece;
  assert.equal(text, whole);
  const responses = new ChatOpenAI({ ...how, maxTokens: 40, useResponsesApi: true });
  const answer = await responses.invoke(QUESTION);
  assert.match(answer.text, ANSWER);
  let streamed = '';
  for await (const chunk of await responses.stream(QUESTION)) streamed += chunk.text;
  assert.equal(streamed, answer.text);
});

test('tools and structured answers', async () => {
  const getWeather = {
    type: 'function' as const,
    function: { name: 'get_weather', description: 'tells the weather', parameters: WEATHER_PARAMETERS },
  };
  const bound = chat(100).bindTools([getWeather], { tool_choice: 'get_weather' });
  const called = await bound.invoke(QUESTION);
  assert.equal(called.tool_calls?.[0]?.name, 'get_weather');
  assert.match(String(called.tool_calls[0].args.city), /^(?:Paris|Rome)$/);
  let merged: { name?: string | undefined; args?: string } = {};
  for await (const chunk of await bound.stream(QUESTION)) {
    const [piece] = chunk.tool_call_chunks ?? [];
    if (piece) merged = { name: merged.name ?? piece.name, args: (merged.args ?? '') + (piece.args ?? '') };
  }
  assert.deepEqual([merged.name, JSON.parse(merged.args ?? '')], ['get_weather', called.tool_calls[0].args]);
  const structured = chat(100).withStructuredOutput<{ city: string; days: number }>(
    { title: 'weather', ...WEATHER_PARAMETERS },
    { method: 'jsonSchema' },
  );
  const value = await structured.invoke(QUESTION);
  assert.match(value.city, /^(?:Paris|Rome)$/);
});

test('several at once', async () => {
  const answers = await chat(12).batch([
    'Hello',
    QUESTION,
    'What is water?',
    'Name a colour.',
    'Who are you?',
    'Hi',
  ]);
  assert.equal(answers.length, 6);
  assert.ok(answers.every((answer) => answer.text.length > 0));
});

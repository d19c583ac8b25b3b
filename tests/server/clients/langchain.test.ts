import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
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

test('tools and structured answers', async () => {
  const getWeather = {
    type: 'function' as const,
    function: { name: 'get_weather', description: 'tells the weather', parameters: WEATHER_PARAMETERS },
  };
  const bound = chat(100).bindTools([getWeather], { tool_choice: 'get_weather' });
  const called = await bound.invoke(QUESTION);
  assert.equal(called.tool_calls?.[0]?.name, 'get_weather');
  assert.match(String(called.tool_calls[0].args.city), /^(?:Paris|Rome)$/);
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

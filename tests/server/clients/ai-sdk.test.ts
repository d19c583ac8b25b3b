import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, Output, streamText, tool } from 'ai';
import { ANSWER, KEY, MODEL, QUESTION, sharedServer, WEATHER_PARAMETERS } from './shared-server.ts';

const shared = sharedServer();

function model() {
  const provider = createOpenAICompatible({
    name: 'rocmforge',
    baseURL: `${shared.url}/v1`,
    apiKey: KEY,
    supportsStructuredOutputs: true,
    includeUsage: true,
  });
  return provider(MODEL);
}

const weather = jsonSchema<{ city: string; days: number }>(WEATHER_PARAMETERS as never);
const ask = { prompt: QUESTION, temperature: 0, maxOutputTokens: 60, maxRetries: 0 };

test('text, in one piece and streamed', async () => {
  const whole = await generateText({ model: model(), ...ask });
  assert.match(whole.text, ANSWER);
  assert.equal(whole.finishReason, 'stop');
  const streamed = streamText({ model: model(), ...ask });
  let text = '';
  for await (const piece of streamed.textStream) text += piece;
  assert.equal(text, whole.text);
  assert.equal((await streamed.usage).outputTokens, whole.usage.outputTokens);
});

test('an object of a schema', async () => {
  const { output } = await generateText({
    model: model(),
    ...ask,
    output: Output.object({ schema: weather }),
  });
  assert.match(output.city, /^(?:Paris|Rome)$/);
  assert.ok(Number.isInteger(output.days));
});

test('a tool is called with arguments of its schema', async () => {
  let asked: { city: string; days: number } | undefined;
  const getWeather = tool({
    description: 'tells the weather',
    inputSchema: weather,
    execute: async (input) => {
      asked = input;
      return { degrees: 21 };
    },
  });
  const result = await generateText({
    model: model(),
    ...ask,
    maxOutputTokens: 100,
    tools: { getWeather },
    toolChoice: { type: 'tool', toolName: 'getWeather' },
  });
  assert.equal(result.finishReason, 'tool-calls');
  assert.deepEqual(result.toolCalls[0]?.input, asked);
  assert.match(asked?.city ?? '', /^(?:Paris|Rome)$/);
  const streamed = streamText({
    model: model(),
    ...ask,
    maxOutputTokens: 100,
    tools: { getWeather },
    toolChoice: 'required',
  });
  const [call] = await streamed.toolCalls;
  assert.equal(call?.toolName, 'getWeather');
});

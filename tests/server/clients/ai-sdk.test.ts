import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, jsonSchema, Output, streamObject, streamText, tool } from 'ai';
import { ANSWER, KEY, MODEL, QUESTION, sharedServer, WEATHER_PARAMETERS } from './shared-server.ts';

const shared = sharedServer();

function provider() {
  return createOpenAICompatible({
    name: 'rocmforge',
    baseURL: `${shared.url}/v1`,
    apiKey: KEY,
    supportsStructuredOutputs: true,
    includeUsage: true,
  });
}

const model = () => provider()(MODEL);

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
  const { object } = await generateObject({ model: model(), ...ask, schema: weather });
  assert.deepEqual(object, output);
  const streamed = streamObject({ model: model(), ...ask, schema: weather });
  let pieces = 0;
  for await (const _part of streamed.partialObjectStream) pieces++;
  assert.ok(pieces > 0);
  assert.deepEqual(await streamed.object, output);
});

test('a text is continued by the model of completions', async () => {
  const completion = provider().completionModel(MODEL);
  const how = { model: completion, temperature: 0, maxOutputTokens: 8, maxRetries: 0 };
  const whole = await generateText({ ...how, prompt: 'The capital of France is' });
  assert.ok(whole.text.length > 0);
  const streamed = streamText({ ...how, prompt: 'The capital of France is' });
  let text = '';
  for await (const piece of streamed.textStream) text += piece;
  assert.equal(text, whole.text);
});

test('the results of tools go back to the model, step by step', async () => {
  const days: number[] = [];
  const { steps, text } = await generateText({
    model: model(),
    ...ask,
    tools: {
      getWeather: tool({
        inputSchema: weather,
        execute: async (input) => {
          days.push(input.days);
          return { degrees: 21 };
        },
      }),
    },
    maxOutputTokens: 100,
    prepareStep: ({ stepNumber }) => ({
      toolChoice: stepNumber === 0 ? { type: 'tool', toolName: 'getWeather' } : 'none',
    }),
    stopWhen: ({ steps: done }) => done.length === 2,
  });
  assert.deepEqual([steps.length, days.length], [2, 1]);
  assert.equal(text, steps[1]?.text);
  assert.ok(text.length > 0);
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

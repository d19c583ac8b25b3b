import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { embed, generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { embeddingModel, languageModel } from '../../src/integrations/ai-sdk.ts';
import { loadModel } from '../../src/node/load-model.ts';

let model: LanguageModel;
before(async () => {
  model = await loadModel(undefined, { device: 'cpu', context: 1024 });
});
after(() => model?.dispose());

const prompt = 'What is the capital of France?';
const ANSWER = 'The capital of France is Paris.';

test('generateText and streamText answer, with usage and reason', async () => {
  const { text, usage, finishReason } = await generateText({ model: languageModel(model), prompt });
  assert.equal(text, ANSWER);
  assert.equal(finishReason, 'stop');
  assert.equal(usage.inputTokens, await model.countTokens([{ role: 'user', content: prompt }]));
  const streamed = streamText({ model: languageModel(model), system: '', prompt, maxOutputTokens: 3 });
  let pieces = '';
  for await (const piece of streamed.textStream) pieces += piece;
  assert.ok(pieces.length > 0);
  assert.equal(await streamed.finishReason, 'length');
  assert.equal((await streamed.usage).outputTokens, 3);
});

test('an object has its schema, and tools run until there is an answer', async () => {
  const schema = z.object({ city: z.enum(['Paris', 'Berlin']) });
  const { object } = await generateObject({ model: languageModel(model), schema, prompt });
  assert.ok(['Paris', 'Berlin'].includes(object.city));
  const { steps } = await generateText({
    model: languageModel(model),
    prompt: 'How is the weather in Paris?',
    tools: { weather: tool({ inputSchema: schema, execute: async ({ city }) => ({ city, celsius: 21 }) }) },
    toolChoice: 'required',
    prepareStep: ({ stepNumber }) => ({
      toolChoice: stepNumber === 0 ? ('required' as const) : ('none' as const),
    }),
    stopWhen: stepCountIs(2),
    maxOutputTokens: 60,
    providerOptions: { rocmforge: { parallelCalls: false } },
  });
  assert.equal(steps[0]?.finishReason, 'tool-calls');
  const [result] = steps[0]?.toolResults ?? [];
  assert.equal(result?.toolName, 'weather');
  assert.equal((result?.output as { celsius: number } | undefined)?.celsius, 21);
  assert.equal(steps.length, 2);
});

test('files, unknown options and models that do not embed are refused', async () => {
  const image = { type: 'file' as const, data: 'AAAA', mediaType: 'image/png' };
  const asked = generateText({ model: languageModel(model), messages: [{ role: 'user', content: [image] }] });
  await assert.rejects(asked, (error) => isRocmforgeError(error, 'MEDIA_UNSUPPORTED'));
  const unknown = { rocmforge: { temprature: 1 } };
  const misspelt = generateText({ model: languageModel(model), prompt, providerOptions: unknown });
  await assert.rejects(misspelt, (error) => isRocmforgeError(error, 'OPTION_UNKNOWN'));
  const embedding = embed({ model: embeddingModel(model), value: 'hi', maxRetries: 0 });
  await assert.rejects(embedding, (error) => isRocmforgeError(error, 'EMBEDDINGS_UNSUPPORTED'));
});

test('an answer that fails while it streams ends with its error', async () => {
  const ending = new AbortController();
  const { stream } = await languageModel(model).doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    abortSignal: ending.signal,
  });
  ending.abort();
  const kinds: string[] = [];
  for await (const part of stream) {
    kinds.push(part.type);
    if (part.type === 'error') assert.ok(isRocmforgeError(part.error, 'ABORTED'));
  }
  assert.equal(kinds[0], 'stream-start');
  assert.equal(kinds.at(-1), 'error');
});

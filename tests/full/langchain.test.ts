import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  AIMessageChunk,
  HumanMessage,
  SystemMessage,
  type ToolMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { ChatRocmforge } from '../../src/integrations/langchain.ts';
import { loadModel } from '../../src/node/load-model.ts';

let model: LanguageModel;
before(async () => {
  model = await loadModel(undefined, { device: 'cpu', context: 1024 });
});
after(() => model?.dispose());

const QUESTION = 'What is the capital of France?';
const ANSWER = 'The capital of France is Paris.';

test('invoke and stream answer, with usage and reason', async () => {
  const chat = new ChatRocmforge({ model });
  const answer = await chat.invoke(QUESTION);
  assert.equal(answer.content, ANSWER);
  assert.equal(
    (answer as unknown as { usage_metadata?: UsageMetadata }).usage_metadata?.input_tokens,
    await model.countTokens([{ role: 'user', content: QUESTION }]),
  );
  assert.equal(answer.response_metadata['finish_reason'], 'stop');
  let text = '';
  const limited = new ChatRocmforge({ model, options: { maxTokens: 3 } });
  let last: AIMessageChunk | undefined;
  for await (const chunk of await limited.stream([new SystemMessage(''), new HumanMessage(QUESTION)])) {
    text += chunk.text;
    last = chunk;
  }
  assert.ok(text.length > 0);
  assert.equal(last?.response_metadata['finish_reason'], 'length');
});

test('tools are bound and called, and their results go back', async () => {
  const weather = tool(({ city }) => `${city}: 21`, {
    name: 'weather',
    description: 'The weather of a city.',
    schema: z.object({ city: z.enum(['Paris', 'Berlin']) }),
  });
  const chat = new ChatRocmforge({ model, options: { maxTokens: 60, parallelCalls: false } });
  const question = new HumanMessage('How is the weather in Paris?');
  const called = await chat.bindTools([weather], { tool_choice: 'any' }).invoke([question]);
  const [call] = called.tool_calls ?? [];
  assert.equal(call?.name, 'weather');
  const result = (await weather.invoke(call as never)) as ToolMessage;
  assert.match(result.content as string, /^(?:Paris|Berlin): 21$/);
  const end = await chat.bindTools([weather], { tool_choice: 'none' }).invoke([question, called, result]);
  assert.equal(end.tool_calls?.length ?? 0, 0);
  assert.ok(AIMessageChunk.isInstance(end));
});

test('structured output has the form that is asked for', async () => {
  const chat = new ChatRocmforge({ model, options: { temperature: 0, reasoning: { enabled: false } } });
  const schema = z.object({ city: z.string().max(8), size: z.enum(['small', 'large']) });
  const typed = await chat.withStructuredOutput(schema).invoke('A city');
  assert.deepEqual(schema.parse(typed), typed);
  const raw = chat.withStructuredOutput(
    {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    },
    { includeRaw: true },
  );
  assert.equal(typeof (await raw.invoke('Is it?')).parsed.ok, 'boolean');
});

test('a call that a limit has cut is none to run', async () => {
  const chat = new ChatRocmforge({ model, options: { temperature: 0, maxTokens: 40 } });
  const parameters = {
    type: 'object',
    properties: { text: { type: 'string', minLength: 200 } },
    required: ['text'],
  };
  const definition = { type: 'function', function: { name: 'write', parameters } };
  const message = await chat.bindTools([definition], { tool_choice: 'any' }).invoke('Write');
  assert.equal(message.response_metadata.finish_reason, 'length');
  assert.deepEqual(message.tool_calls, []);
  assert.deepEqual(
    message.invalid_tool_calls?.map(({ name }) => name),
    ['write'],
  );
});

test('images, unknown options and aborted calls are refused', async () => {
  const chat = new ChatRocmforge({ model });
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const asked = chat.invoke([new HumanMessage({ content: [image] })]);
  await assert.rejects(asked, (error) => isRocmforgeError(error, 'MEDIA_UNSUPPORTED'));
  // @ts-expect-error: the option's name is temperature
  const misspelt = new ChatRocmforge({ model, options: { temprature: 1 } });
  await assert.rejects(misspelt.invoke('hi'), (error) => isRocmforgeError(error, 'OPTION_UNKNOWN'));
  await assert.rejects(chat.invoke('hi', { signal: AbortSignal.abort() }));
});

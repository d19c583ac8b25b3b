import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { thinkingModel } from '../support/thinking-model.ts';

let model: LanguageModel;
before(async () => {
  model = await thinkingModel({ context: 512 });
});
after(() => model?.dispose());

const messages = [{ role: 'user' as const, content: 'What is rain?' }];
const options = { temperature: 0, seed: 1, maxTokens: 40, reasoning: { budget: 10 } };

test('chunks, the text and the message say the same of an answer', async () => {
  let reasoning = '';
  let text = '';
  for await (const chunk of model.chat(messages, options)) {
    reasoning += chunk.reasoning;
    text += chunk.text;
  }
  assert.notEqual(reasoning, '');
  assert.equal(await model.chat(messages, options).text(), text);
  assert.deepEqual(await model.chat(messages, options).message(), {
    role: 'assistant',
    content: text,
    reasoning_content: reasoning,
  });
});

test('a message goes back into the conversation with its reasoning', async () => {
  const answer = await model.chat(messages, options).message();
  const { reasoning_content: thought, ...rest } = answer;
  const [whole, plain] = await Promise.all([
    model.chatPrompt([...messages, answer, ...messages]),
    model.chatPrompt([...messages, rest, ...messages]),
  ]);
  assert.ok(model.tokenizer.decode(whole).includes(thought ?? '-'));
  assert.ok(whole.length > plain.length);
});

test('reasoning is turned off, and what the template knows nothing of is refused', async () => {
  const answer = await model.chat(messages, { ...options, reasoning: { enabled: false } }).message();
  assert.equal(answer.reasoning_content, undefined);
  assert.throws(
    () => model.chat(messages, { reasoning: { effort: 'high' } }),
    (error) => isRocmforgeError(error, 'REASONING_UNSUPPORTED'),
  );
});

test('special leaves an answer as it is written', async () => {
  const text = await model.chat(messages, { ...options, special: true }).text();
  assert.ok(text.includes('</think>'));
});

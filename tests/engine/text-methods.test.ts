import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { ErrorCode } from '../../src/base/errors.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import type { GgufPlan } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { tinyModel } from '../support/tiny-model.ts';

async function open(changed: GgufPlan['metadata'] = []): Promise<LanguageModel> {
  const parts = { device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  return LanguageModel.open({ gguf: await tinyModel('F32', changed), ...parts });
}

const is = (code: ErrorCode) => (error: unknown) => isRocmforgeError(error, code);
const QUESTION = [{ role: 'user', content: 'hi' }] as const;

test('a text becomes ids and text again; a conversation is counted as it is sent', async () => {
  await using model = await open();
  const ids = model.tokenize('hi, you');
  assert.equal(ids[0], 1, 'the token at the beginning');
  assert.deepEqual(model.tokenize('hi, you', { addSpecial: false }), ids.slice(1));
  assert.equal(model.detokenize(ids), 'hi, you');
  assert.equal(await model.countTokens('hi, you'), ids.length);
  assert.equal(model.renderChat(QUESTION), 'user: hi\n');
  const prompt = await model.chatPrompt(QUESTION);
  assert.equal(await model.countTokens(QUESTION), prompt.length);
  const stream = model.chat(QUESTION, { maxTokens: 1 });
  await stream.text();
  assert.equal(stream.end.promptTokens, prompt.length);
});

test('unknown options of these methods are refused', async () => {
  await using model = await open();
  // @ts-expect-error: the option's name is addSpecial
  assert.throws(() => model.tokenize('hi', { addSpecials: false }), is('OPTION_UNKNOWN'));
  // @ts-expect-error: ids are decoded with `special`
  assert.throws(() => model.detokenize([3], { parseSpecial: true }), is('OPTION_UNKNOWN'));
  // @ts-expect-error: nothing is generated
  assert.throws(() => model.renderChat(QUESTION, { temperature: 1 }), is('OPTION_UNKNOWN'));
  // @ts-expect-error: nothing is generated
  await assert.rejects(model.countTokens(QUESTION, { temperature: 1 }), is('OPTION_UNKNOWN'));
});

test('a gap is filled behind the tokens of the model, and refused without them', async () => {
  await using without = await open();
  assert.throws(() => without.infill({ prefix: 'a', suffix: 'b' }), is('INFILL_UNSUPPORTED'));
  const marks = { fim_pre: 100, fim_suf: 101, fim_mid: 102 };
  const keys = Object.entries(marks).map(([name, value]) => {
    return [`tokenizer.ggml.${name}_token_id`, { type: 'u32', value }] as const;
  });
  await using model = await open(keys);
  const how = { maxTokens: 4, temperature: 0, ignoreEnd: true };
  const encode = (text: string) => model.tokenize(text, { addSpecial: false });
  const files = [{ filename: 'other.txt', text: 'hi' }];
  const other = encode('\n\n--- other.txt\nhi');
  const prompt = [1, ...other, 100, ...encode('One,'), 101, ...encode('three'), 102];
  const filled = await model.infill({ prefix: 'One,', suffix: 'three', files }, how).text();
  assert.equal(filled, await model.generate(prompt, how).text());
  const halfEncoded = model.infill({ prefix: encode('One,'), suffix: 'three', files }, how);
  assert.equal(await halfEncoded.text(), filled);
});

test('an image in a message is refused by its own error', async () => {
  await using model = await open();
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,' } };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }] as const;
  assert.throws(
    () => model.chat(messages),
    (error) => {
      assert.ok(isRocmforgeError(error, 'MEDIA_UNSUPPORTED'));
      assert.match(
        error.message,
        /^messages\[0\]\.content\[1\]: a part of type image_url, but models read text only/,
      );
      return true;
    },
  );
});

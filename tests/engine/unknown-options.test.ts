import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel as loadInBrowser } from '../../src/browser/load-model.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { GgufLoader, loadModel, openDevice, SharedDeviceMemory } from '../../src/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf, openSource } from '../../src/node/index.ts';
import { ModelServer } from '../../src/server/index.ts';
import { fixture } from '../support/fixture.ts';
import { tinyModel } from '../support/tiny-model.ts';

const PATH = fixture('families/llama.gguf');

function unknown(option: string, nearest?: string) {
  return (error: unknown) => {
    const { code, message } = error as { code?: string; message: string };
    assert.equal(code, 'OPTION_UNKNOWN', message);
    assert.ok(message.includes(`"${option}"`), message);
    if (nearest !== undefined) assert.ok(message.includes(`"${nearest}"`), message);
    return true;
  };
}

async function tiny(): Promise<LanguageModel> {
  const parts = {
    gguf: await tinyModel(),
    device: openReferenceDevice(),
    architectures: ALL_ARCHITECTURES,
  };
  return LanguageModel.open(parts, { context: 64 });
}

test('loading refuses options that nobody reads, by types and when it runs', async () => {
  // @ts-expect-error: no such option
  await assert.rejects(loadModel(PATH, { contextSize: 8 }), unknown('contextSize', 'context'));
  // @ts-expect-error: no such option
  await assert.rejects(loadModel(PATH, { draft: { path: PATH, count: 3 } }), unknown('count'));
  // @ts-expect-error: no such option
  await assert.rejects(loadModel(PATH, { device: 'null', runtime: { pipeline: true } }), unknown('pipeline'));
  // @ts-expect-error: no such option
  await assert.rejects(loadInBrowser('/a.gguf', { contextSize: 8 }), unknown('contextSize', 'context'));
  // @ts-expect-error: no such option
  await assert.rejects(openDevice({ gpu: 1 }), unknown('gpu'));
  // @ts-expect-error: no such option
  await assert.rejects(openGguf(PATH, { headers: {} }), unknown('headers'));
  // @ts-expect-error: no such option
  await assert.rejects(openSource(PATH, { mmapped: true }), unknown('mmapped', 'mmap'));
  const device = openNullDevice();
  // @ts-expect-error: no such option
  await assert.rejects(SharedDeviceMemory.open(device, { bytes: 1 }), unknown('bytes'));
  await using gguf = await tinyModel();
  // @ts-expect-error: no such option
  assert.throws(() => new GgufLoader(gguf, device, { reader: 1 }), unknown('reader', 'readers'));
  // @ts-expect-error: no such option
  assert.throws(() => new ModelServer({ models: [], port: 1 }), unknown('port'));
});

test('texts refuse options that nobody reads, by types and when they run', async () => {
  await using model = await tiny();
  const messages = [{ role: 'user', content: 'hi' }] as const;
  // @ts-expect-error: no such option
  assert.throws(() => model.chat(messages, { max_tokens: 1 }), unknown('max_tokens', 'maxTokens'));
  // @ts-expect-error: no such option
  assert.throws(() => model.generate('hi', { max_tokens: 1 }), unknown('max_tokens', 'maxTokens'));
  // @ts-expect-error: no such option
  await assert.rejects(model.embed('hi', { normalize: true }), unknown('normalize', 'normalized'));
  // @ts-expect-error: no such option
  await assert.rejects(model.chatPrompt(messages, { tool: [] }), unknown('tool', 'tools'));
  // @ts-expect-error: no such option
  assert.throws(() => model.evaluate([1], 0, { abort: 1 }), unknown('abort'));
});

test('a conversation of unknown roles, fields and contents is refused', async () => {
  await using model = await tiny();
  const refused: [object, RegExp][] = [
    [{ role: 'usr', content: 'hi' }, /messages\[0\]\.role: found "usr" \(is "user" meant\?\)/],
    [{ content: 'hi' }, /messages\[0\]\.role: found nothing/],
    [{ role: 'user' }, /messages\[0\]\.content: found nothing/],
    [{ role: 'user', content: 3 }, /messages\[0\]\.content: found number/],
    [{ role: 'user', content: [{ type: 'tool_use', id: 'x' }] }, /found a part of type tool_use/],
    [{ role: 'user', content: 'hi', toolCalls: [] }, /no option "toolCalls": is "tool_calls" meant/],
  ];
  for (const [message, expected] of refused) {
    assert.throws(() => model.chat([message as never]), expected);
  }
  assert.throws(() => model.chat([]), /messages: found none/);
  // @ts-expect-error: no such role
  assert.throws(() => model.chat([{ role: 'robot', content: 'hi' }]), /"robot"/);
});

test('a role and a field that the template names are read', async () => {
  const source =
    "{% for m in messages %}{% if m.role == 'ipython' %}{{ m.output }}{% endif %}{{ m.content }}{% endfor %}";
  const gguf = await tinyModel('F32', [['tokenizer.chat_template', { type: 'string', value: source }]]);
  const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { context: 64 });
  const message = { role: 'ipython', output: 'a', content: 'b' };
  assert.equal(typeof (await model.chat([message as never], { maxTokens: 1 }).text()), 'string');
});

test('a text stream is read once, and its whole text is there as often as it is asked for', async () => {
  await using model = await tiny();
  const options = { maxTokens: 3, ignoreEnd: true, special: true, seed: 1 };
  const asked = model.generate('hi', options);
  const [first, second] = [await asked.text(), await asked.text()];
  assert.notEqual(first, '');
  assert.equal(second, first);
  assert.throws(() => asked[Symbol.asyncIterator](), { code: 'STREAM_READ' });
  const iterated = model.generate('hi', options);
  for await (const chunk of iterated) assert.ok(chunk);
  await assert.rejects(iterated.text(), { code: 'STREAM_READ' });
  await assert.rejects(
    async () => {
      for await (const chunk of iterated) assert.ok(chunk);
    },
    { code: 'STREAM_READ' },
  );
});

test('ids of a model without a tokenizer are told where they belong', async () => {
  const gguf = await tinyModel('F32', [['tokenizer.ggml.model', { type: 'string', value: 'none' }]]);
  const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { context: 64 });
  assert.throws(
    () => model.generate([1, 2]),
    (error) => {
      const { code, fix } = error as { code?: string; fix?: string };
      assert.equal(code, 'TEXT_UNAVAILABLE');
      assert.match(fix ?? '', /generateTokens/);
      return true;
    },
  );
});

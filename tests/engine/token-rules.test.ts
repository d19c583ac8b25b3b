import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { tinyModel } from '../support/tiny-model.ts';

let model: LanguageModel;
before(async () => {
  const gguf = await tinyModel();
  model = await LanguageModel.open(
    { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES },
    { context: 64 },
  );
});
after(() => model?.dispose());

const [A, B, END] = [68, 69, 2];
const LIKES_A = { temperature: 0, maxTokens: 6, logitBias: new Map([[A, 50]]) };
const LIKES_END = { temperature: 0, maxTokens: 6, logitBias: new Map([[END, 100]]) };

test('a text ends only behind its fewest tokens, by ids of its own, too', async () => {
  const stream = model.generate('hi', { ...LIKES_END, minTokens: 3 });
  await stream.text();
  assert.deepEqual([stream.end.reason, stream.end.generatedTokens], ['stop', 3]);
  const own = model.generate('hi', { ...LIKES_A, minTokens: 3, stopTokens: [A], ignoreEnd: true });
  assert.doesNotMatch(await own.text(), /A/);
  assert.deepEqual([own.end.reason, own.end.generatedTokens], ['stop', 3]);
});

test('a form that can only end is not kept from it', async () => {
  const held = { choices: ['ab'], seed: 1, minTokens: 5, bannedTokens: [[A, A]] };
  assert.equal(await model.generate('hi', held).text(), 'ab');
});

test('stretches do not come, whatever of them has, and only allowed ids do', async () => {
  const banned = await model.generate('hi', { ...LIKES_A, bannedTokens: [[A, A, A], [B]] }).text();
  assert.match(banned, /^AA[^AB]AA[^AB]$/u);
  const allowed = { temperature: 5, allowedTokens: [A, B], maxTokens: 40, ignoreEnd: true, seed: 3 };
  assert.match(await model.generate('hi', allowed).text(), /^(?=.*A)(?=.*B)[AB]{40}$/);
});

test('a stop string is looked for behind the fewest tokens, and given out where it is asked for', async () => {
  const stop = { ...LIKES_A, stop: ['AA'] };
  assert.equal(await model.generate('hi', stop).text(), '');
  assert.equal(await model.generate('hi', { ...stop, minTokens: 4, includeStop: true }).text(), 'AAAAA');
  assert.equal(await model.answer([1, 5], { ...stop, minTokens: 4, includeStop: true }).text(), 'AAAAA');
});

test('rules that nothing can be held to are refused', () => {
  for (const rules of [
    { minTokens: -1 },
    { allowedTokens: [] },
    { allowedTokens: [1_000_000] },
    { bannedTokens: [[]] },
    { stopTokens: [0.5] },
  ]) {
    assert.throws(() => model.generate('hi', rules), { code: 'INVALID_ARGUMENT' });
  }
});

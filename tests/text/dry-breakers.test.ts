import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../../src/base/turns.ts';
import { createTokenizer } from '../../src/text/index.ts';
import { dryBreakers } from '../../src/text/dry-breakers.ts';
import { tinyModel } from '../support/tiny-model.ts';

test('breakers are the tokens that contain them, and those that begin them with the rest', async () => {
  const tokenizer = createTokenizer((await tinyModel()).metadata);
  const plain = (text: string) => tokenizer.encode(text, { addSpecial: false });
  const found = finish(dryBreakers(tokenizer, ['A', 'xyz']));
  for (let id = 0; id < tokenizer.vocabularySize; id++) {
    const bytes = new TextDecoder().decode(tokenizer.tokenBytes(id));
    const tails = found.get(id) ?? [];
    assert.equal(
      tails.some((tail) => tail.length === 0),
      bytes.includes('A') || bytes.includes('xyz'),
      bytes,
    );
    if (bytes === 'x') assert.deepEqual(tails, [plain('yz')]);
    if (bytes === 'y') assert.deepEqual(tails, []);
  }
});

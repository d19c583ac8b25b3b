import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenizerFixture, VOCABULARIES, vocabularyTokenizer } from '../support/vocabularies.ts';

/** Each case is followed by a separator line, so nothing comes after the last one. */
const CASES = tokenizerFixture('cases.inp').split('\n__ggml_vocab_test__\n').slice(0, -1);

for (const name of VOCABULARIES) {
  test(`${name}: llama.cpp's cases, ids and round trip`, async () => {
    const tokenizer = await vocabularyTokenizer(name);
    const lines = tokenizerFixture(`${name}.out`).split('\n').slice(0, -1);
    assert.equal(CASES.length, 46);
    assert.equal(lines.length, CASES.length);
    for (const [i, text] of CASES.entries()) {
      const ids = (lines[i] as string)
        .split(' ')
        .filter((id) => id !== '')
        .map(Number);
      assert.deepEqual(tokenizer.encode(text, { addSpecial: false }), ids, JSON.stringify(text));
      assert.equal(tokenizer.decode(ids), text);
    }
  });
}

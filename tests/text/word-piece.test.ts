import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { metadataOf } from '../support/metadata.ts';

const TOKENS = [
  '[PAD]',
  '[UNK]',
  '[CLS]',
  '[SEP]',
  '▁un',
  '▁hello',
  'aff',
  'able',
  '▁!',
  '▁中',
  '▁한',
  '▁a',
  'σ',
];

function bert(more: Parameters<typeof metadataOf>[0] = {}): Tokenizer {
  return createTokenizer(
    metadataOf({
      model: 'bert',
      tokens: TOKENS,
      token_type: TOKENS.map((_, id) => (id < 4 ? 3 : 1)),
      bos_token_id: 2,
      seperator_token_id: 3,
      unknown_token_id: 1,
      ...more,
    }),
  );
}

function texts(tokenizer: Tokenizer, text: string): string[] {
  return tokenizer.encode(text, { addSpecial: false }).map((id) => tokenizer.tokenText(id));
}

test('words are cut into the longest pieces, or are unknown as a whole', () => {
  assert.deepEqual(texts(bert(), 'unaffable hello'), ['▁un', 'aff', 'able', '▁hello']);
  assert.deepEqual(texts(bert(), 'unaffably hello'), ['[UNK]', '▁hello']);
  assert.deepEqual(texts(bert(), `hello${'a'.repeat(100)}`), ['[UNK]']);
});

test('punctuation and ideographs stand alone, controls vanish, any whitespace separates', () => {
  assert.deepEqual(texts(bert(), 'hello!!\u3000中中he\u200bllo\0'), [
    '▁hello',
    '▁!',
    '▁!',
    '▁中',
    '▁中',
    '▁hello',
  ]);
});

test('lower case and accents follow the metadata', () => {
  assert.deepEqual(texts(bert(), 'HÉLLO'), ['▁hello']);
  assert.deepEqual(texts(bert({ 'tokenizer.ggml.normalizer.strip_accents': false }), 'HÉLLO'), ['[UNK]']);
  assert.deepEqual(texts(bert({ 'tokenizer.ggml.normalizer.lowercase': false }), 'Hello'), ['[UNK]']);
  assert.deepEqual(texts(bert(), 'AΣ'), ['▁a', 'σ']);
});

test('a text is wrapped, and decodes with single spaces', () => {
  const ids = bert().encode('unaffable  hello');
  assert.deepEqual([ids[0], ids.at(-1)], [2, 3]);
  assert.equal(bert().decode(ids), 'unaffable hello');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { WordPieceModel } from '../../src/text/models/word-piece-model.ts';
import { Vocabulary } from '../../src/text/vocabulary.ts';
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

test('an encoding pauses within text that has no place for it, and finds the same words', () => {
  const tokens = [...TOKENS, '▁🦙'];
  const metadata = metadataOf({ tokens, token_type: tokens.map((_, id) => (id < 4 ? 3 : 1)) });
  const model = new WordPieceModel(Vocabulary.read(metadata), metadata, 1);
  const id = (text: string) => tokens.indexOf(text);
  const count = 100_000;
  const cases: [string, number[]][] = [
    ['!'.repeat(count), Array.from({ length: count }, () => id('▁!'))],
    ['a'.repeat(count), [id('[UNK]')]],
    [
      `!${'🦙!'.repeat(count / 4)}`,
      [id('▁!'), ...Array.from({ length: count / 4 }, () => [id('▁🦙'), id('▁!')]).flat()],
    ],
    ['a\0'.repeat(count / 2) + ' hello', [id('[UNK]'), id('▁hello')]],
    ['a\u0301!'.repeat(count / 4), Array.from({ length: count / 4 }, () => [id('▁a'), id('▁!')]).flat()],
  ];
  for (const [text, expected] of cases) {
    const out: number[] = [];
    const steps = model.encode(text, false, out);
    let pauses = 0;
    let most = 0;
    for (let before = 0; !steps.next().done; before = out.length) {
      pauses++;
      most = Math.max(most, out.length - before);
    }
    assert.deepEqual(out, expected);
    assert.ok(pauses >= Math.floor(text.length / 1100), `${pauses} pauses in ${text.length}`);
    assert.ok(most <= 1100, `${most} tokens between two pauses`);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { buildCharsmap } from '../support/charsmap.ts';
import { metadataOf } from '../support/metadata.ts';

const ENTRIES: readonly (readonly [string, number, number])[] = [
  ['<pad>', 0, 3],
  ['</s>', 0, 3],
  ['<unk>', 0, 2],
  ['▁', -2, 1],
  ['a', -3, 1],
  ['b', -3, 1],
  ['ab', -4, 1],
  ['▁a', -2.5, 1],
  ['bb', -4.5, 1],
  ['<x>', 0, 4],
];

function t5(more: Parameters<typeof metadataOf>[0] = {}): Tokenizer {
  return createTokenizer(
    metadataOf({
      model: 't5',
      tokens: ENTRIES.map(([text]) => text),
      scores: ENTRIES.map(([, score]) => score),
      token_type: ENTRIES.map(([, , type]) => type),
      add_space_prefix: true,
      ...more,
    }),
  );
}

function texts(tokenizer: Tokenizer, text: string): string[] {
  return tokenizer.encode(text, { addSpecial: false }).map((id) => tokenizer.tokenText(id));
}

test('the best sum of scores wins', () => {
  assert.deepEqual(texts(t5(), 'ab'), ['▁a', 'b']);
  assert.deepEqual(texts(t5(), 'abb'), ['▁a', 'bb']);
  assert.deepEqual(texts(t5({ add_space_prefix: false }), 'ab'), ['ab']);
});

test('neighbouring unknown characters are one unknown token, and eos ends the text', () => {
  assert.deepEqual(texts(t5(), 'a日本a'), ['▁a', '<unk>', 'a']);
  assert.deepEqual(t5().encode('a'), [7, 1]);
  assert.deepEqual(t5().encode(''), [1]);
});

test('user-defined tokens are always taken', () => {
  assert.deepEqual(texts(t5(), 'a<x>a'), ['▁a', '<x>', '▁a']);
});

test('spaces merge where the metadata says', () => {
  assert.deepEqual(texts(t5({ remove_extra_whitespaces: true }), '  a   a '), ['▁a', '▁a']);
  assert.deepEqual(texts(t5(), 'a  a'), ['▁a', '▁', '▁a']);
});

test('the precompiled character map rewrites the longest prefix', () => {
  const rules = buildCharsmap([
    ['x', 'a'],
    ['xy', 'b'],
    ['é', 'ab'],
    ['\u3000', ' '],
  ]);
  const tokenizer = t5({ precompiled_charsmap: rules });
  assert.deepEqual(texts(tokenizer, 'xxyé'), ['▁a', 'b', 'ab']);
  assert.deepEqual(texts(tokenizer, 'a\u3000a'), ['▁a', '▁a']);
});

test('a corrupt character map is a typed error', () => {
  const good = buildCharsmap([['x', 'a']]);
  for (const bad of [
    [1, 2],
    [255, 255, 255, 127, 0, 0, 0, 0],
    good.slice(0, -1),
    [8, 0, 0, 0, 0, 255, 255, 127, 0, 0, 0, 0, 0, 0],
  ]) {
    assert.throws(
      () => t5({ precompiled_charsmap: bad }).encode('x'),
      (error) => isRocmforgeError(error, 'TOKENIZER_INVALID'),
    );
  }
});

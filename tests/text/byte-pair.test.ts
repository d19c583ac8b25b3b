import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { metadataOf } from '../support/metadata.ts';

type Values = Parameters<typeof metadataOf>[0];

function texts(tokenizer: Tokenizer, text: string): string[] {
  return tokenizer.encode(text, { addSpecial: false }).map((id) => tokenizer.tokenText(id));
}

function gpt2(tokens: readonly string[], merges: readonly string[], more: Values = {}): Tokenizer {
  const values = { model: 'gpt2', pre: 'gpt-2', tokens, merges, eos_token_id: 0, bos_token_id: 0 };
  return createTokenizer(metadataOf({ ...values, ...more }));
}

test('the lowest rank joins first, the leftmost among equals', () => {
  const tokenizer = gpt2(['a', 'b', 'c', 'bc', 'ab', 'aa', 'aaa'], ['b c', 'a b', 'a a', 'aa a']);
  assert.deepEqual(texts(tokenizer, 'abc'), ['a', 'bc']);
  assert.deepEqual(texts(tokenizer, 'aaaaa'), ['aa', 'aaa']);
});

test('merges through a symbol that is no token fall back to bytes', () => {
  assert.deepEqual(texts(gpt2(['a', 'b', 'abc', 'c'], ['a b', 'ab c']), 'ab abc'), ['a', 'b', 'abc']);
});

test('bytes that the vocabulary lacks are left out, whatever the file calls the unknown token', () => {
  assert.deepEqual(texts(gpt2(['<|endoftext|>', 'a'], [], { unknown_token_id: 0 }), 'ab'), ['a']);
  assert.deepEqual(texts(gpt2(['?', 'a'], []), 'ab'), ['a']);
});

test('a word that is a token is taken whole where merges are to be ignored', () => {
  const tokens = ['a', 'b', 'ab', 'Ġab'];
  assert.deepEqual(texts(gpt2(tokens, [], { pre: 'llama-bpe' }), 'ab ab'), ['ab', 'Ġab']);
  assert.deepEqual(texts(gpt2(tokens, [], { pre: 'gpt-2' }), 'ab'), ['a', 'b']);
});

test('Kimi K2 may come without merges, and without the bos of the other byte-pair models', () => {
  const values = { model: 'gpt2', tokens: ['a', 'b'] };
  assert.deepEqual(texts(createTokenizer(metadataOf({ ...values, pre: 'kimi-k2' })), 'ab'), ['a', 'b']);
  const glm = createTokenizer(
    metadataOf({ ...values, tokens: [...'abcdefghijklmn'], merges: [], pre: 'glm4' }),
  );
  assert.deepEqual([glm.special.bos, glm.special.eos], [undefined, 11]);
});

test('tokens spelled outside the alphabet of bytes decode as they stand', () => {
  assert.equal(gpt2(['Ġa', '日', 'Ċ'], []).decode([0, 1, 2]), ' a日\n');
});

const GEMMA: Values = {
  model: 'gemma4',
  tokens: ['<bos>', '▁', 'a', '▁a', '\n', '\n\n', '<0xC3>', '<0xA9>', '</s>'],
  token_type: [3, 1, 1, 1, 1, 1, 6, 6, 1],
  merges: ['▁ a'],
  bos_token_id: 0,
};

test('Gemma 4: plain characters, escaped spaces, byte tokens, whole runs of line breaks', () => {
  const tokenizer = createTokenizer(metadataOf(GEMMA));
  const ids = tokenizer.encode('a a\n\né');
  assert.deepEqual(
    ids.map((id) => tokenizer.tokenText(id)),
    ['<bos>', 'a', '▁a', '\n\n', '<0xC3>', '<0xA9>'],
  );
  assert.equal(tokenizer.decode(ids), 'a a\n\né');
  assert.deepEqual([...tokenizer.special.endOfGeneration], []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { SpecialSplitter } from '../../src/text/special-splitter.ts';
import { Vocabulary } from '../../src/text/vocabulary.ts';
import { metadataOf } from '../support/metadata.ts';
import { vocabularyTokenizer } from '../support/vocabularies.ts';

const NORMAL = 1;
const CONTROL = 3;
const USER_DEFINED = 4;

/** A SentencePiece vocabulary of single characters, the usual three first, then those of the test. */
function tokenizerOf(
  extra: readonly (readonly [string, number])[],
  more: Parameters<typeof metadataOf>[0] = {},
): Tokenizer {
  const plain = [...'▁abc<>|/s'];
  return createTokenizer(
    metadataOf({
      model: 'llama',
      tokens: ['<unk>', '<s>', '</s>', ...plain, ...extra.map(([text]) => text)],
      token_type: [2, CONTROL, CONTROL, ...plain.map(() => NORMAL), ...extra.map(([, type]) => type)],
      add_space_prefix: false,
      add_bos_token: false,
      ...more,
    }),
  );
}

function texts(tokenizer: Tokenizer, text: string, parseSpecial: boolean): string[] {
  return tokenizer.encode(text, { parseSpecial }).map((id) => tokenizer.tokenText(id));
}

test('control tokens are read only where allowed, user-defined ones always', () => {
  const tokenizer = tokenizerOf([
    ['<|a|>', CONTROL],
    ['<|b|>', USER_DEFINED],
  ]);
  assert.deepEqual(texts(tokenizer, '<|a|>c<|b|>', true), ['<|a|>', 'c', '<|b|>']);
  assert.deepEqual(texts(tokenizer, '<|a|>c<|b|>', false), ['<', '|', 'a', '|', '>', 'c', '<|b|>']);
});

test('plain text never merges into a control token', () => {
  const tokenizer = tokenizerOf([
    ['</s', NORMAL],
    ['</', NORMAL],
  ]);
  assert.deepEqual(texts(tokenizer, '</s>', false), ['</s', '>']);
  assert.deepEqual(texts(tokenizer, '</s>', true), ['</s>']);
});

test('longer special tokens claim their place first', () => {
  const tokenizer = tokenizerOf([
    ['ab', USER_DEFINED],
    ['bcc', USER_DEFINED],
  ]);
  assert.deepEqual(texts(tokenizer, 'abcc', false), ['a', 'bcc']);
});

test('of two tokens of one text, the one that is allowed is read', () => {
  const tokenizer = tokenizerOf([
    ['<x>', CONTROL],
    ['<x>', USER_DEFINED],
  ]);
  const [control, userDefined] = [tokenizer.vocabularySize - 2, tokenizer.vocabularySize - 1];
  assert.deepEqual(tokenizer.encode('<x>', { parseSpecial: true }), [control]);
  assert.deepEqual(tokenizer.encode('<x>', { parseSpecial: false }), [userDefined]);
});

test('a text is searched once, however many special tokens there are', () => {
  const words = Array.from({ length: 2000 }, (_, i) => `<${i}>`);
  const values = { tokens: words, token_type: words.map(() => USER_DEFINED) };
  const splitter = new SpecialSplitter(Vocabulary.read(metadataOf(values)), {
    left: new Set(),
    right: new Set(),
  });
  const split = splitter.split('a<7>', false);
  let pauses = 0;
  let step = split.next();
  for (; !step.done; step = split.next()) pauses++;
  assert.deepEqual(step.value, ['a', 7]);
  assert.ok(pauses < 10, `${pauses} pauses`);
});

test('the space before the text comes back after every special token', () => {
  const tokenizer = tokenizerOf([], { add_space_prefix: true });
  assert.deepEqual(texts(tokenizer, 'a</s>b', true), ['▁', 'a', '</s>', '▁', 'b']);
});

test('bos and eos are added as the metadata says', () => {
  const tokenizer = tokenizerOf([], { add_bos_token: true, add_eos_token: true });
  assert.deepEqual(texts(tokenizer, 'a', false), ['<s>', 'a', '</s>']);
  assert.deepEqual(tokenizer.encode('a', { addSpecial: false }), [4]);
  assert.deepEqual(texts(tokenizer, '', false), ['<s>', '</s>']);
  assert.deepEqual(tokenizer.encode('', { addSpecial: false }), []);
});

test('phi-3 tokens swallow the whitespace after them', () => {
  const tokenizer = tokenizerOf([['<|a|>', CONTROL]], { 'general.name': 'Phi-3 mini' });
  assert.deepEqual(texts(tokenizer, '<|a|> \n b', true), ['<|a|>', 'b']);
  assert.deepEqual(texts(tokenizer, '<s> b', true), ['<s>', '▁', 'b']);
});

test('the mask token of jina and nomic models swallows the whitespace before it', () => {
  const tokenizer = tokenizerOf([['<mask>', CONTROL]], { 'general.architecture': 'nomic-bert-moe' });
  assert.deepEqual(texts(tokenizer, 'a \t<mask> b', true), ['a', '<mask>', '▁', 'b']);
});

test('ends of generation are found by id and by name', () => {
  const { special, tokenType, idOf } = bound(
    tokenizerOf(
      [
        ['<|im_end|>', NORMAL],
        ['<|eom_id|>', CONTROL],
        ['<|fim_prefix|>', CONTROL],
        ['<|fim_pad|>', CONTROL],
        ['<|other|>', CONTROL],
      ],
      { eos_token_id: 2 },
    ),
  );
  const ends = [...special.endOfGeneration].sort((a, b) => a - b);
  assert.deepEqual(ends, [2, idOf('<|im_end|>'), idOf('<|eom_id|>'), idOf('<|fim_pad|>')]);
  assert.equal(special.eot, idOf('<|im_end|>'));
  assert.equal(special.eom, idOf('<|eom_id|>'));
  assert.equal(special.fimPrefix, idOf('<|fim_prefix|>'));
  assert.equal(tokenType(idOf('<|im_end|>') as number), 'control');
});

test('metadata wins over names, and ids outside the vocabulary are ignored', () => {
  const tokenizer = tokenizerOf([['<|im_end|>', CONTROL]], {
    eot_token_id: 5,
    separator_token_id: 9,
    mask_token_id: 4294967295,
  });
  assert.equal(tokenizer.special.eot, 5);
  assert.equal(tokenizer.special.mask, undefined);
});

test('gpt-oss: the end of one message is not the end of the answer', () => {
  const tokenizer = tokenizerOf([
    ['<|end|>', CONTROL],
    ['<|return|>', CONTROL],
    ['<|call|>', CONTROL],
    ['<|channel|>', CONTROL],
  ]);
  const isEnd = (text: string) => tokenizer.special.endOfGeneration.has(tokenizer.idOf(text) ?? -1);
  assert.deepEqual(['<|end|>', '<|return|>', '<|call|>'].map(isEnd), [false, true, true]);
  assert.equal(tokenizer.tokenType(tokenizer.idOf('<|channel|>') as number), 'userDefined');
});

test("the real vocabularies' special tokens", async () => {
  const qwen = await vocabularyTokenizer('qwen2');
  assert.deepEqual([...qwen.special.endOfGeneration].sort(), [151643, 151645]);
  assert.equal(qwen.special.eot, 151645);
  const llama = await vocabularyTokenizer('llama-bpe');
  assert.equal(llama.special.eot, llama.idOf('<|eot_id|>'));
  assert.deepEqual(llama.encode('hi'), [128000, 6151]);
  const spm = await vocabularyTokenizer('llama-spm');
  assert.deepEqual([...spm.special.endOfGeneration], [2]);
  assert.deepEqual(spm.encode('</s>', { parseSpecial: true }), [1, 2]);
  assert.ok(!spm.encode('</s>').includes(2));
});

test('files without a usable tokenizer give typed errors', () => {
  const cases: readonly (readonly [Parameters<typeof metadataOf>[0], string])[] = [
    [{}, 'TOKENIZER_MISSING'],
    [{ model: 'none' }, 'TOKENIZER_MISSING'],
    [{ model: 'toString' }, 'TOKENIZER_UNKNOWN'],
    [{ model: 'llama' }, 'TOKENIZER_INVALID'],
    [{ model: 'llama', tokens: ['a'], scores: [] }, 'TOKENIZER_INVALID'],
    [{ model: 'llama', tokens: ['a', 'b'], token_type: [1] }, 'TOKENIZER_INVALID'],
    [{ model: 'llama', tokens: ['a'] }, 'TOKENIZER_INVALID'],
    [{ model: 'gpt2', tokens: ['a'], merges: ['a a'], pre: 'constructor' }, 'PRETOKENIZER_UNKNOWN'],
    [{ model: 'gpt2', tokens: ['a'], pre: 'gpt-2' }, 'TOKENIZER_INVALID'],
  ];
  for (const [values, code] of cases) {
    assert.throws(
      () => createTokenizer(metadataOf(values)),
      (error) => isRocmforgeError(error) && error.code === code,
      JSON.stringify(values),
    );
  }
});

function bound(tokenizer: Tokenizer): Pick<Tokenizer, 'special' | 'tokenType' | 'idOf'> {
  return {
    special: tokenizer.special,
    tokenType: (id) => tokenizer.tokenType(id),
    idOf: (text) => tokenizer.idOf(text),
  };
}

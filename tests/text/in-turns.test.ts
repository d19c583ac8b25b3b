import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { metadataOf } from '../support/metadata.ts';
import { vocabularyTokenizer } from '../support/vocabularies.ts';

const CHARACTERS = [...'abcdefghijklmnopqrstuvwxyz.,! \n'];
const PIECES = ['the', 'qu', 'ick', 'fox', ' the', ' fo', 'ox', '▁the', '▁fox', '▁'];

/** A tokenizer of a kind that has no vocabulary among the fixtures: characters and a few pieces. */
function small(model: string): Tokenizer {
  const tokens = ['<pad>', '<s>', '</s>', '<unk>', ...CHARACTERS, ...PIECES];
  const words = model === 'bert' ? ['▁quick', '▁.', '▁a', '▁b'] : [];
  return createTokenizer(
    metadataOf({
      model,
      tokens: [...tokens, ...words],
      scores: [...tokens, ...words].map((_, id) => -id),
      token_type: [...tokens, ...words].map((_, id) => (id < 3 ? 3 : id === 3 ? 2 : 1)),
      bos_token_id: 1,
      seperator_token_id: 2,
      unknown_token_id: 3,
    }),
  );
}

const TOKENIZERS: Readonly<Record<string, () => Tokenizer | Promise<Tokenizer>>> = {
  'byte pairs': () => vocabularyTokenizer('llama-bpe'),
  SentencePiece: () => vocabularyTokenizer('llama-spm'),
  unigram: () => small('t5'),
  WordPiece: () => small('bert'),
  RWKV: () => small('rwkv'),
};

const SENTENCE = ' the quick fox the fox.';
const REPEATED = 3000;

/** Words longer than what is done at once, and characters of two UTF-16 units where stretches end. */
const ODD = `a${'🦙'.repeat(9000)} ${'ab'.repeat(20_000)}\n\n${'fox the'.repeat(5000)}é ${'日本'.repeat(3000)}`;

for (const [name, open] of Object.entries(TOKENIZERS)) {
  test(`${name}: a long text has the ids of its sentences`, async () => {
    const tokenizer = await open();
    const of = (text: string) => tokenizer.encode(text, { addSpecial: false });
    const [one, two] = [of(SENTENCE), of(SENTENCE.repeat(2))];
    const next = two.slice(one.length);
    const expected = [...one, ...Array.from({ length: REPEATED - 1 }, () => next).flat()];
    assert.deepEqual(of(SENTENCE.repeat(REPEATED)), expected);
  });

  test(`${name}: texts encoded in turns, several at a time, have the ids of texts encoded at once`, async () => {
    const tokenizer = await open();
    const texts = [ODD, SENTENCE.repeat(REPEATED), [...ODD].reverse().join(''), '', 'a'];
    const found = await Promise.all(texts.map((text) => tokenizer.encodeInTurns(text)));
    for (const [at, text] of texts.entries()) assert.deepEqual(found[at], tokenizer.encode(text));
  });
}

test('others have their turn while a text is encoded, and can end it', async () => {
  const tokenizer = await vocabularyTokenizer('llama-spm');
  const controller = new AbortController();
  const encoding = tokenizer.encodeInTurns(ODD.repeat(4), { signal: controller.signal });
  setTimeout(() => controller.abort(), 1);
  await assert.rejects(encoding, (error) => isRocmforgeError(error, 'ABORTED'));
});

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { StreamingDetokenizer, type Tokenizer } from '../../src/text/index.ts';
import { VOCABULARIES, vocabularyTokenizer } from '../support/vocabularies.ts';
import fc from '../support/fast-check.ts';

/** Any text of whole characters; U+2581 is how SentencePiece spells a space, so it cannot come back. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc
      .array(fc.constantFrom(' ', '  ', '\n', "don't", 'Hello', '123', '!', 'é', '日本', '\0', '🦙', '<s>'))
      .map((parts) => parts.join('')),
  )
  .map((value) => value.replaceAll('\u2581', '_'));

function stream(tokenizer: Tokenizer, ids: readonly number[], special: boolean): string[] {
  const detokenizer = new StreamingDetokenizer(tokenizer, { special });
  return [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()];
}

for (const name of VOCABULARIES) {
  describe(name, () => {
    let tokenizer: Tokenizer;
    before(async () => {
      tokenizer = await vocabularyTokenizer(name);
    });

    test('text survives encoding and decoding, streamed or whole', () => {
      fc.assert(
        fc.property(text, (value) => {
          const ids = tokenizer.encode(value);
          assert.equal(tokenizer.decode(ids), value);
          const pieces = stream(tokenizer, ids, false);
          assert.equal(pieces.join(''), value);
          for (const piece of pieces) assert.doesNotMatch(piece, /\p{Surrogate}/u);
        }),
        { numRuns: 300 },
      );
    });

    test('any ids give the same text streamed and whole', () => {
      const id = fc.nat({ max: tokenizer.vocabularySize - 1 });
      fc.assert(
        fc.property(fc.array(id), fc.boolean(), (ids, special) => {
          assert.equal(stream(tokenizer, ids, special).join(''), tokenizer.decode(ids, { special }));
        }),
        { numRuns: 300 },
      );
    });

    test('ids are within the vocabulary and never a control token', () => {
      fc.assert(
        fc.property(text, (value) => {
          for (const id of tokenizer.encode(value, { addSpecial: false })) {
            assert.ok(id >= 0 && id < tokenizer.vocabularySize);
            assert.ok(!tokenizer.isControl(id));
          }
        }),
        { numRuns: 200 },
      );
    });
  });
}

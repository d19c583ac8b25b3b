import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { createTokenizer, PRETOKENIZER_KINDS } from '../../src/text/index.ts';
import { Pretokenizer } from '../../src/text/pretokenizer.ts';
import { pretokenizerKind } from '../../src/text/pretokenizer-kinds.ts';
import { tokenizerFixture, vocabularyMetadata, withPretokenizer } from '../support/vocabularies.ts';
import fc from '../support/fast-check.ts';

function split(name: string, text: string): string[] {
  return [...new Pretokenizer(pretokenizerKind(name).rules).words(text)].flat();
}

/** Written from the models' patterns; most of all where llama.cpp only approximates them. */
const EXPECTED: readonly (readonly [string, string, readonly string[]])[] = [
  ['gpt-2', "I'm  fine, ok?\n\n x2", ['I', "'m", ' ', ' fine', ',', ' ok', '?', '\n\n', ' x', '2']],
  ['gpt-2', 'a\u0085b\ufeffc', ['a', '\u0085', 'b', '\ufeff', 'c']],
  ['llama-bpe', "I'M 12345 ok!\n\n  x", ['I', "'M", ' ', '123', '45', ' ok', '!\n\n', ' ', ' x']],
  ['qwen2', '12 (a)', ['1', '2', ' (', 'a', ')']],
  ['qwen35', 'e\u0301a', ['e\u0301a']],
  ['qwen2', 'e\u0301a', ['e', '\u0301a']],
  ['starcoder', ' 12a', [' ', '1', '2', 'a']],
  ['falcon', '$1234', ['$', '123', '4']],
  ['deepseek-llm', ' Hi 你好  12!', [' Hi', ' ', '你好', '  ', '12', '!']],
  ['deepseek-coder', 'ab\n12', ['ab', '\n', '1', '2']],
  ['deepseek-v3', '.txt 日本1234', ['.txt', ' ', '日本', '123', '4']],
  ['tekken', 'HTTPServer camelCase สวัสดี 12', ['HTTPServer', ' camel', 'Case', ' สวัสดี', ' ', '1', '2']],
  ['gpt-4o', "CamelCase it's ÉCOLEÉcole", ['Camel', 'Case', " it's", ' ÉCOLEÉcole']],
  ['kimi-k2', 'Hi中文abcDef 1234', ['Hi', '中文', 'abc', 'Def', ' ', '123', '4']],
  ['youtu', '한국어，中文 abcDef12', ['한국어', '，', '中文', ' abc', 'Def', '1', '2']],
  ['tiny_aya', '1234 12345a', ['1', '234', ' ', '123', '45', 'a']],
  ['superbpe', 'a 1234567 b', ['a ', '1', '234', '567', ' b']],
  ['afmoe', 'a1234 ไทยabc', ['a', '1', '234', ' ', 'ไ', 'ทยabc']],
  ['exaone-moe', 'a b c! d\n\n', ['a b c', '!', ' d', '\n\n']],
  ['jais-2', 'a         b', ['a', ' '.repeat(8), ' b']],
  ['bailingmoe', 'a\n\n\nb', ['a', '\n\n\n', 'b']],
  ['bloom', 'Hi, you (there)', ['Hi', ',', ' you', ' (', 'there', ')']],
  ['chameleon', 'IMGIMGABZa  b1!', ['IMGIMGABZ', 'a', '  ', 'b', '1', '!']],
  ['laguna', 'a \n\n b', ['a', ' ', '\n\n', ' b']],
];

for (const [name, text, pieces] of EXPECTED) {
  test(`${name} splits ${JSON.stringify(text)}`, () => {
    assert.deepEqual(split(name, text), pieces);
  });
}

test('no pre-tokenizer loses or reorders text', () => {
  const text = fc.string({ unit: 'binary', maxLength: 60 });
  const distinct = [...new Set(Object.values(PRETOKENIZER_KINDS))].map(
    (kind) => new Pretokenizer(kind.rules),
  );
  fc.assert(
    fc.property(text, (value) => {
      for (const pretokenizer of distinct) {
        const pieces = [...pretokenizer.words(value)].flat();
        assert.equal(pieces.join(''), value);
        assert.ok(value === '' || !pieces.includes(''));
      }
    }),
    { numRuns: 200 },
  );
});

interface Golden {
  readonly texts: readonly string[];
  readonly groups: readonly { readonly names: readonly string[]; readonly ids: readonly string[] }[];
}

test("the ids of llama.cpp's pre-tokenizers", async () => {
  const { texts, groups } = JSON.parse(tokenizerFixture('pretokenizers.json')) as Golden;
  const metadata = await vocabularyMetadata('llama-bpe');
  for (const { names, ids } of groups) {
    // The names of a group share their rules or agree on these texts; the table's first name of each set of rules is run.
    const kinds = new Set<unknown>();
    for (const name of names) {
      if (kinds.has(PRETOKENIZER_KINDS[name])) continue;
      kinds.add(PRETOKENIZER_KINDS[name]);
      const tokenizer = createTokenizer(withPretokenizer(metadata, name));
      for (const [i, text] of texts.entries()) {
        const found = tokenizer.encode(text, { addSpecial: false }).join(' ');
        assert.equal(found, ids[i], `${name}: ${JSON.stringify(text)}`);
      }
    }
  }
});

test('an unknown name lists the known ones, a missing one means default', () => {
  assert.throws(
    () => pretokenizerKind('gpt-17'),
    (error) => isRocmforgeError(error, 'PRETOKENIZER_UNKNOWN') && error.message.includes('llama-bpe, llama3'),
  );
  assert.equal(pretokenizerKind(undefined), PRETOKENIZER_KINDS.default);
});

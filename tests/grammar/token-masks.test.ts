import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import {
  type Grammar,
  type GrammarMatcher,
  PreparedVocabulary,
  type Regex,
  type Rule,
  TokenGrammar,
} from '../../src/grammar/index.ts';
import { smallGrammar } from '../support/grammar/naive-grammar.ts';
import { type SmallToken, smallVocabulary } from '../support/grammar/small-vocabulary.ts';
import { runsOf } from '../support/property-runs.ts';
import fc from '../support/fast-check.ts';

const text = (of: string): Rule => ({ kind: 'regex', regex: { kind: 'text', text: of } });
const sequence = (...parts: Rule[]): Rule => ({ kind: 'sequence', parts });
const choice = (...parts: Rule[]): Rule => ({ kind: 'choice', parts });
const named = (name: string): Rule => ({ kind: 'reference', name });
const repeat = (part: Rule, min: number, max: number): Rule => ({ kind: 'repeat', part, min, max });
const character: Regex = {
  kind: 'choice',
  parts: [
    {
      kind: 'set',
      ranges: [
        [0x20, 0x21],
        [0x23, 0x5b],
        [0x5d, 0x10ffff],
      ],
    },
    {
      kind: 'sequence',
      parts: [
        { kind: 'text', text: '\\' },
        {
          kind: 'set',
          ranges: [
            [0x22, 0x22],
            [0x6e, 0x6e],
          ],
        },
      ],
    },
  ],
};
const quoted = (inner: Regex): Regex => ({
  kind: 'sequence',
  parts: [{ kind: 'text', text: '"' }, inner, { kind: 'text', text: '"' }],
});
const characters = (min: number, max: number): Regex => ({ kind: 'repeat', part: character, min, max });
const regex = (of: Regex): Rule => ({ kind: 'regex', regex: of });

/** Objects with names that differ, arrays of texts that differ, strings of all kinds, numerals, and a control token. */
const jsonLike: Grammar = {
  root: 'value',
  rules: new Map<string, Rule>([
    ['value', choice(named('object'), named('texts'), named('string'), named('number'), named('array'))],
    ['string', choice(regex(quoted(characters(0, Infinity))), regex(quoted(characters(2, 5))))],
    [
      'number',
      regex({
        kind: 'both',
        parts: [
          { kind: 'multiple', step: 15n, scale: 1 },
          { kind: 'not', part: { kind: 'text', text: '0' } },
        ],
      }),
    ],
    [
      'key',
      {
        kind: 'distinct',
        regex: {
          kind: 'both',
          parts: [quoted(characters(0, Infinity)), { kind: 'not', part: { kind: 'text', text: '"ab"' } }],
        },
      },
    ],
    ['member', sequence(named('key'), text(':'), choice(named('value'), { kind: 'token', text: '<call>' }))],
    [
      'object',
      {
        kind: 'scope',
        part: sequence(
          text('{'),
          repeat(sequence(named('member'), repeat(sequence(text(','), named('member')), 0, Infinity)), 0, 1),
          text('}'),
        ),
      },
    ],
    [
      'texts',
      {
        kind: 'scope',
        part: sequence(text('<'), named('item'), repeat(sequence(text(','), named('item')), 0, 4), text('>')),
      },
    ],
    ['item', { kind: 'distinct', regex: quoted(characters(0, 2)) }],
    [
      'array',
      sequence(
        text('['),
        repeat(sequence(named('value'), repeat(sequence(text(','), named('value')), 0, 3)), 0, 1),
        text(']'),
      ),
    ],
  ]),
};

const PIECES = [
  '"',
  '"',
  ',',
  ':',
  '{',
  '}',
  '[',
  ']',
  '<',
  '>',
  'a',
  'b',
  'ab',
  'é',
  '😀',
  '\\',
  'n',
  ' ',
  '1',
  '5',
  '.',
  '0',
  '":"',
  '","',
  '{"',
];

/** All bytes, tokens of pieces, the beginnings and ends of characters, and special ones. */
function tokens(words: readonly string[]): SmallToken[] {
  return [
    ...Array.from({ length: 256 }, (_, byte): SmallToken => ({ text: Uint8Array.of(byte) })),
    ...words.map((word): SmallToken => ({ text: word })),
    { text: Uint8Array.of(0x61, 0xf0, 0x9f) },
    { text: Uint8Array.of(0x98, 0x80, 0x22) },
    { text: 'a'.repeat(70) },
    { text: 'b","', kind: 'user-defined' },
    { text: '<call>', kind: 'control' },
    { text: '<end>', kind: 'end' },
    { text: 'a', kind: 'unused' },
  ];
}

/** Compares the mask with what each token finds, and goes on with one that is allowed. */
function walk(matcher: GrammarMatcher, size: number, choices: readonly number[]): void {
  const mask = new Int32Array(Math.ceil(size / 32));
  for (const choiceOf of choices) {
    const found = matcher.fill(mask);
    const allowed: number[] = [];
    for (let id = 0; id < size; id++) {
      const isAllowed = matcher.tryAccept(id);
      if (isAllowed) matcher.rollback(1);
      if (isAllowed) allowed.push(id);
      assert.equal(
        (((mask[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1,
        isAllowed,
        `token ${id} at ${matcher.length}`,
      );
    }
    assert.equal(found, allowed.length > 0);
    if (allowed.length === 0) return;
    // Tokens of several characters are rare among all that are allowed, and are where masks could go wrong.
    const long = allowed.filter((id) => id >= 256);
    const from = choiceOf % 4 === 0 || long.length === 0 ? allowed : long;
    matcher.accept(from[choiceOf % from.length] as number);
  }
}

test('a mask allows what the parser takes, for random grammars', () => {
  const small = smallVocabulary([
    ...['a', 'b', 'ab', 'ba', 'aa', 'bb', 'aab', 'abb', 'aaaa', 'abab'].map((of): SmallToken => ({
      text: of,
    })),
    { text: 'ba', kind: 'user-defined' },
    { text: '<end>', kind: 'end' },
  ]);
  const vocabulary = new PreparedVocabulary(small);
  fc.assert(
    fc.property(smallGrammar, fc.array(fc.nat(1000), { minLength: 5, maxLength: 5 }), (grammar, choices) => {
      try {
        walk(new TokenGrammar(grammar, vocabulary).matcher(), small.size, choices);
      } catch (error) {
        // Some are ambiguous beyond what a text may cost, which is told.
        if (!isRocmforgeError(error, 'GRAMMAR_INVALID') && !isRocmforgeError(error, 'GRAMMAR_TOO_COSTLY'))
          throw error;
      }
    }),
    { numRuns: runsOf(600) },
  );
});

test('a mask allows what the parser takes, for what JSON is made of', () => {
  const word = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 5 }).map((of) => of.join(''));
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 150, maxLength: 150 }),
      fc.array(fc.nat(10_000), { minLength: 12, maxLength: 12 }),
      (words, choices) => {
        const small = smallVocabulary(tokens(words));
        const grammar = new TokenGrammar(jsonLike, new PreparedVocabulary(small));
        // The second text finds what the first one left behind.
        walk(grammar.matcher(), small.size, choices);
        walk(grammar.matcher(), small.size, choices.toReversed());
      },
    ),
    { numRuns: runsOf(60) },
  );
});

test('a string of limited length is walked through to its end', () => {
  const small = smallVocabulary(tokens(['abc', 'aaaaaa', 'éé', 'b"', '\\"', '\\n"', '"', '""']));
  const grammar: Grammar = { root: 'root', rules: new Map([['root', regex(quoted(characters(3, 9)))]]) };
  const vocabulary = new PreparedVocabulary(small);
  for (let seed = 0; seed < 20; seed++) {
    walk(
      new TokenGrammar(grammar, vocabulary).matcher(),
      small.size,
      Array.from({ length: 12 }, (_, i) => seed * 7 + i * 5),
    );
  }
});

test('a dead end is told of', () => {
  const small = smallVocabulary([{ text: 'a' }, { text: '<end>', kind: 'end' }]);
  const grammar: Grammar = { root: 'root', rules: new Map([['root', text('ab')]]) };
  const matcher = new TokenGrammar(grammar, new PreparedVocabulary(small)).matcher();
  const mask = new Int32Array(1);
  assert.ok(matcher.fill(mask));
  matcher.accept(0);
  assert.ok(!matcher.fill(mask) && !matcher.isComplete);
  assert.throws(() => matcher.failDeadEnd(), { code: 'GRAMMAR_DEAD_END', message: /"a"/ });
});

test('work that is broken off spoils no other text', () => {
  const small = smallVocabulary(tokens(['aaaa']));
  const vocabulary = new PreparedVocabulary(small);
  const counted = (of: Regex, max: number): Regex => ({ kind: 'repeat', part: of, min: 0, max });
  const any: Regex = { kind: 'set', ranges: [[0, 0x10ffff]] };
  const a: Regex = { kind: 'text', text: 'a' };
  const costly = counted({ kind: 'sequence', parts: [counted(any, 5000), a] }, 5000);
  const grammar = new TokenGrammar({ root: 'root', rules: new Map([['root', regex(costly)]]) }, vocabulary);
  const [one, other] = [grammar.matcher(), grammar.matcher()];
  // Seventy letters at once: what they cost grows with what came before.
  const long = 259;
  const spend = () => {
    for (let i = 0; i < 100; i++) one.accept(long);
  };
  assert.throws(spend, { code: 'GRAMMAR_TOO_COSTLY' });
  assert.throws(() => other.accept(0x61), { code: 'GRAMMAR_TOO_COSTLY' });
  assert.ok(grammar.matcher().tryAccept(0x61));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { Fuel, matchesRegex, RegularLanguages, searchRegex, wholeRegex } from '../../src/grammar/index.ts';
import { runsOf } from '../support/property-runs.ts';
import fc from '../support/fast-check.ts';

/** Pieces of patterns that every ECMAScript engine takes. */
const atom = fc.constantFrom(
  'a',
  'b',
  '_',
  'é',
  '😀',
  '.',
  '\\d',
  '\\w',
  '\\W',
  '\\s',
  '[ab]',
  '[^a]',
  '[a-c1]',
  '\\n',
  '\\.',
  '[\\w-]',
);
const assertion = fc.constantFrom('^', '$', '\\b', '\\B');
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,3}', '{0,}', '*?');
const bounded = fc.constantFrom('', '', '?', '{1,2}', '{2}');

const { pattern } = fc.letrec<{ pattern: string; term: string; group: string }>((tie) => ({
  pattern: fc.array(fc.array(tie('term'), { maxLength: 4 }), { minLength: 1, maxLength: 3 }).map((parts) => {
    return parts.map((part) => part.join('')).join('|');
  }),
  term: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(atom, quantifier).map(([of, many]) => of + many),
    assertion,
    tie('group'),
  ),
  group: fc.oneof(
    fc
      .tuple(fc.constantFrom('(', '(?:', '(?<name>'), atom, quantifier)
      .map(([open, of, many]) => `${open}${of})${many}`),
    fc.tuple(tie('pattern'), bounded).map(([of, many]) => `(?:${of})${many}`),
    fc.tuple(fc.constantFrom('(?=', '(?!'), tie('pattern')).map(([open, of]) => `${open}${of})`),
  ),
}));

const words = fc
  .array(fc.constantFrom('a', 'b', 'c', '_', 'é', '😀', ' ', '\n', '1', '.', '-'), { maxLength: 6 })
  .map((of) => of.join(''));

test('a text is in the language of a pattern exactly when the pattern is found in it', () => {
  let tried = 0;
  fc.assert(
    fc.property(pattern, fc.array(words, { minLength: 1, maxLength: 6 }), (source, texts) => {
      let expected: RegExp;
      try {
        expected = new RegExp(source, 'u');
      } catch {
        return;
      }
      const found = searchRegex(source);
      const whole = wholeRegex(source);
      const exact = new RegExp(`^(?:${source})$`, 'u');
      const languages = new RegularLanguages(new Fuel('the test'));
      for (const of of texts) {
        // V8 looks for \B between the halves of a surrogate pair too, which ECMA-262 does not.
        if (source.includes('\\B') && of.includes('😀')) continue;
        tried++;
        assert.equal(languages.matches(found, of), expected.test(of), `${source} in ${JSON.stringify(of)}`);
        assert.equal(languages.matches(whole, of), exact.test(of), `${source} is ${JSON.stringify(of)}`);
      }
    }),
    { numRuns: runsOf(600) },
  );
  assert.ok(tried > 300, `${tried} texts`);
});

test('Unicode properties, escapes and classes stand for what ECMAScript says', () => {
  const sources = [
    '^\\p{Lu}\\P{L}$',
    '^\\p{Script=Greek}+$',
    '^\\u{1F600}\\uD83D\\uDE00$',
    '^\\x41\\cA\\0\\t$',
    '^[\\b\\-\\]^]+$',
    '^[^]$',
    '^[]$',
    '^\\/\\$$',
    '^[\\p{Nd}_]+$',
  ];
  const texts = ['É1', 'éA', 'λόγος', '😀😀', 'A\u0001\0\t', '\b-]^', '\n', '', '/$', '٣_', 'Ab'];
  for (const source of sources) {
    const language = searchRegex(source);
    for (const of of texts) {
      const expected = new RegExp(source, 'u').test(of);
      assert.equal(matchesRegex(language, of), expected, `${source} in ${JSON.stringify(of)}`);
    }
  }
});

test('what only the older syntax takes is taken where it is plain', () => {
  for (const [source, of] of [
    ['^\\-\\_\\@\\"\\ $', '-_@" '],
    ['^a}b]$', 'a}b]'],
    ['^x{a}$', 'x{a}'],
    ['^[\\w-.]+$', 'a-.'],
  ] as const) {
    assert.ok(matchesRegex(searchRegex(source), of), source);
  }
});

test('a pattern that is none, or no regular language, is refused', () => {
  const long = 'a'.repeat(80_000);
  for (const [source, reason] of [
    ['(a', /no end/],
    ['a)', /without its/],
    ['[a', /no end/],
    ['*a', /repeat/],
    ['a**', /repeated/],
    ['a{3,2}', /out of order/],
    ['[b-a]', /out of order/],
    ['\\', /too early/],
    ['\\p{Nonsense}', /no Unicode property/],
    ['\\Z', /no escape/],
    ['(?<=a)b', /lookbehind/],
    ['(?<!a)b', /lookbehind/],
    ['(a)\\1', /reference/],
    ['(?<x>a)\\k<x>', /reference/],
    ['(?i)a', /flags/],
    ['(?:a\\b)*', /assertion/],
    [long, /80000 characters/],
    ['('.repeat(200) + ')'.repeat(200), /nested/],
    ['\ud800', /surrogate/],
  ] as const) {
    assert.throws(
      () => searchRegex(source),
      (error) => isRocmforgeError(error, 'GRAMMAR_INVALID') && reason.test(error.message),
      source.slice(0, 40),
    );
  }
});

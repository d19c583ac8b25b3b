import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import {
  Fuel,
  isEmptyRegex,
  isSubsetRegex,
  matchesRegex,
  type Regex,
  RegularLanguages,
} from '../../src/grammar/index.ts';
import { CHARACTERS, endsOf, smallRegex, smallText } from '../support/grammar/naive-regex.ts';
import { runsOf } from '../support/property-runs.ts';
import fc from '../support/fast-check.ts';

const any: Regex = { kind: 'set', ranges: [[0, 0x10ffff]] };
const text = (of: string): Regex => ({ kind: 'text', text: of });
const repeat = (part: Regex, min: number, max: number): Regex => ({ kind: 'repeat', part, min, max });
const sequence = (...parts: Regex[]): Regex => ({ kind: 'sequence', parts });
const choice = (...parts: Regex[]): Regex => ({ kind: 'choice', parts });
const both = (...parts: Regex[]): Regex => ({ kind: 'both', parts });
const not = (part: Regex): Regex => ({ kind: 'not', part });
const letters: Regex = { kind: 'set', ranges: [[0x61, 0x7a]] };

function isNaiveMatch(regex: Regex, of: string): boolean {
  const characters = Array.from(of);
  return endsOf(regex, characters, 0).has(characters.length);
}

test('a text matches exactly when the definition says so', () => {
  fc.assert(
    fc.property(smallRegex, fc.array(smallText, { minLength: 1, maxLength: 8 }), (regex, texts) => {
      for (const of of texts) assert.equal(matchesRegex(regex, of), isNaiveMatch(regex, of), of);
    }),
    { numRuns: runsOf(2000) },
  );
});

const shortTexts = ['', ...CHARACTERS, ...CHARACTERS.flatMap((a) => CHARACTERS.map((b) => a + b))];

test('a language is empty only without a text, and one with a text is not', () => {
  fc.assert(
    fc.property(smallRegex, (regex) => {
      if (isEmptyRegex(regex)) {
        for (const of of shortTexts) assert.equal(isNaiveMatch(regex, of), false, of);
      } else {
        const languages = new RegularLanguages(new Fuel('test'));
        const found = languages.texts(regex, 200);
        assert.ok(found === undefined || found.length > 0);
        for (const of of found ?? []) assert.ok(isNaiveMatch(regex, of), of);
      }
    }),
    { numRuns: runsOf(1000) },
  );
});

test('a subset has no text outside', () => {
  fc.assert(
    fc.property(smallRegex, smallRegex, (inner, outer) => {
      const isSubset = isSubsetRegex(inner, outer);
      const outside = shortTexts.find((of) => isNaiveMatch(inner, of) && !isNaiveMatch(outer, of));
      if (outside !== undefined) assert.equal(isSubset, false, outside);
      assert.ok(isSubsetRegex(both(inner, outer), outer));
      assert.ok(isSubsetRegex(inner, choice(outer, inner)));
    }),
    { numRuns: runsOf(500) },
  );
});

test('multiples are those of arithmetic', () => {
  const numeral = fc.tuple(fc.bigInt(0n, 10n ** 9n), fc.nat(4)).map(([digits, behind]) => {
    const all = digits.toString().padStart(behind + 1, '0');
    return behind === 0 ? all : `${all.slice(0, -behind)}.${all.slice(-behind)}`;
  });
  fc.assert(
    fc.property(fc.bigInt(1n, 60n), fc.nat(3), numeral, (step, scale, of) => {
      const regex: Regex = { kind: 'multiple', step, scale };
      assert.equal(matchesRegex(regex, of), isNaiveMatch(regex, of), of);
      assert.equal(matchesRegex(regex, `${of}.`), false);
      assert.equal(matchesRegex(regex, ''), false);
    }),
    { numRuns: runsOf(2000) },
  );
});

test('finite languages are listed', () => {
  const languages = new RegularLanguages(new Fuel('test'));
  assert.deepEqual(
    languages.texts(choice(text('b'), text('a'), sequence(text('a'), letters)), 100)?.length,
    28,
  );
  assert.deepEqual(languages.texts(both(repeat(text('ab'), 0, 9), repeat(any, 3, 4)), 10), ['abab']);
  assert.deepEqual(languages.texts(text('é'), 1), ['é']);
  assert.deepEqual(languages.texts(both(text('a'), text('b')), 1), []);
  assert.equal(languages.texts(repeat(letters, 0, Infinity), 1000), undefined);
  assert.equal(languages.texts(letters, 25), undefined);
  // What is searched is paid by its length, not by the square of it.
  const long = repeat(text('a'.repeat(50)), 0, Infinity);
  assert.equal(new RegularLanguages(new Fuel('test', { units: 100_000 })).texts(long, 200), undefined);
});

test('counts stay counts', () => {
  const long = repeat(letters, 0, 1_000_000);
  assert.ok(matchesRegex(long, 'a'.repeat(5000)));
  assert.ok(!matchesRegex(long, 'a'.repeat(50) + '1'));
  const nested = repeat(repeat(repeat(text('a'), 0, 1000), 0, 1000), 0, 1000);
  assert.ok(matchesRegex(nested, 'a'.repeat(5000)));
  assert.ok(isEmptyRegex(both(repeat(any, 2_000_000, 3_000_000), long)));
  assert.ok(!isEmptyRegex(both(repeat(any, 500_000, 3_000_000), long)));
  assert.ok(!isEmptyRegex(both(repeat(any, 5, 300), not(repeat(letters, 0, 9)))));
});

/** What takes too much must say so, whatever it is made of; the fuel is a tenth of the usual so that the test is short. */
const costly: Record<string, Regex> = {
  'letters far from the end': both(
    sequence(repeat(choice(text('a'), text('b')), 0, Infinity), text('a'), repeat(letters, 500, 500)),
    sequence(repeat(choice(text('a'), text('b')), 0, Infinity), text('c'), repeat(letters, 500, 500)),
  ),
  'counts of overlapping parts': both(
    repeat(sequence(repeat(any, 0, 100), text('a')), 0, 100),
    repeat(sequence(repeat(any, 0, 90), text('b')), 70, 100),
    not(sequence(repeat(any, 0, Infinity), text('ab'), repeat(any, 0, 500))),
  ),
  'many complements of each other': Array.from({ length: 400 }).reduce<Regex>(
    (part, _, i) => not(sequence(part, repeat(any, 0, i), choice(text('a'), part))),
    text('a'),
  ),
};

for (const [name, regex] of Object.entries(costly)) {
  test(`ends within bounds: ${name}`, () => {
    const fuel = new Fuel('the pattern', { units: 1_000_000 });
    try {
      isEmptyRegex(both(regex, repeat(any, 40, Infinity)), fuel);
    } catch (error) {
      assert.ok(isRocmforgeError(error, 'GRAMMAR_TOO_COSTLY'), String(error));
    }
  });
}

test('nesting beyond all measure is refused, length is not', () => {
  let deep: Regex = text('a');
  for (let i = 0; i < 40_000; i++) deep = repeat(sequence(deep, text('b')), 0, 1);
  assert.throws(() => matchesRegex(deep, 'a'), { code: 'GRAMMAR_TOO_COSTLY' });
  const long = 'ab'.repeat(40_000);
  assert.ok(matchesRegex(text(long), long));
  const optional = sequence(...Array.from({ length: 5000 }, (_, i) => repeat(text(String(i % 10)), 0, 1)));
  assert.ok(matchesRegex(optional, '0123456789'));
  const names = Array.from({ length: 20_000 }, (_, i) => text(`name ${i}`));
  assert.ok(matchesRegex(choice(...names), 'name 19999'));
});

test('a deadline and a signal end the work', () => {
  const endless = costly['counts of overlapping parts'] as Regex;
  const ask = (fuel: Fuel) => isEmptyRegex(both(endless, repeat(any, 40, Infinity)), fuel);
  assert.throws(() => ask(new Fuel('the pattern', { deadline: performance.now() - 1 })), {
    code: 'GRAMMAR_TOO_COSTLY',
  });
  assert.throws(() => ask(new Fuel('the pattern', { signal: AbortSignal.abort() })), { code: 'ABORTED' });
});

test('what is no regular expression is refused', () => {
  assert.throws(() => matchesRegex(text('\ud800'), ''), { code: 'GRAMMAR_INVALID' });
  assert.throws(() => matchesRegex(repeat(any, 2, 1), ''), { code: 'GRAMMAR_INVALID' });
  assert.throws(() => matchesRegex(repeat(any, -1, 1), ''), { code: 'GRAMMAR_INVALID' });
  assert.throws(() => matchesRegex({ kind: 'set', ranges: [[5, 4]] }, ''), { code: 'GRAMMAR_INVALID' });
  assert.throws(() => matchesRegex({ kind: 'multiple', step: 0n, scale: 0 }, ''), {
    code: 'GRAMMAR_INVALID',
  });
});

test('a long list of words is the set of them, whatever stands around it', () => {
  const words = Array.from({ length: 300 }, (_, at) => `${'xy'.repeat(at % 4)}${(at * 7919) % 1000}`);
  const parts = words.map((word) => ({ kind: 'text' as const, text: word }));
  const list: Regex = { kind: 'choice', parts };
  const anything: Regex = { kind: 'repeat', part: { kind: 'set', ranges: [[0x20, 0x7e]] }, min: 0, max: 9 };
  const others: Regex = { kind: 'both', parts: [anything, { kind: 'not', part: list }] };
  const twice: Regex = { kind: 'repeat', part: list, min: 2, max: 2 };
  const known = new Set(words);
  for (const word of [
    ...words,
    '',
    'x',
    'xy',
    'xyxyz',
    '1000',
    '999',
    'yx1',
    ...words.map((of) => `${of}0`),
  ]) {
    assert.equal(matchesRegex(list, word), known.has(word), word);
    assert.equal(matchesRegex(others, word), !known.has(word) && word.length <= 9, word);
    const isTwice = Array.from(word, (_, at) => known.has(word.slice(0, at)) && known.has(word.slice(at)));
    assert.equal(matchesRegex(twice, word), isTwice.includes(true), word);
  }
  const few: Regex = { kind: 'choice', parts: parts.slice(0, 100) };
  assert.deepEqual(
    new RegularLanguages(new Fuel('it')).texts(few, 100),
    [...new Set(words.slice(0, 100))].sort(),
  );
  assert.ok(isSubsetRegex(few, list));
  assert.ok(!isSubsetRegex(list, few));
});

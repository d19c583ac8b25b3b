import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fuel, RegularLanguages } from '../../../src/grammar/index.ts';
import { compare, decimalOf, isMultiple } from '../../../src/grammar/schema/decimal.ts';
import { numberRegex } from '../../../src/grammar/schema/number-regex.ts';
import {
  ANY_INTEGER,
  ANY_NUMBER,
  intersectNumbers,
  hasNumber,
  listNumbers,
  type Numbers,
  complementNumbers,
} from '../../../src/grammar/schema/numbers.ts';
import { runsOf } from '../../support/property-runs.ts';
import fc from '../../support/fast-check.ts';

const someNumber = fc.oneof(
  fc.integer({ min: -200, max: 200 }),
  fc.integer({ min: -20_000, max: 20_000 }).map((of) => of / 1000),
  fc.constantFrom(
    0,
    0.5,
    1.5,
    -0.001,
    1e-6,
    1e-7,
    1.5e-7,
    5e-324,
    1e20,
    1e21,
    1.5e21,
    3e25,
    1e300,
    1.7976931348623157e308,
    2 ** 53,
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const bound = fc.option(fc.record({ at: someNumber.map(decimalOf), exclusive: fc.boolean() }), {
  nil: undefined,
});
const step = fc.option(fc.constantFrom(1, 2, 3, 7, 10, 0.5, 0.1, 0.01, 0.25, 1.5), { nil: undefined });

const range = fc
  .record({
    low: bound,
    high: bound,
    by: step,
    off: step,
    without: fc.array(someNumber, { maxLength: 2 }),
    isInteger: fc.boolean(),
  })
  .map(({ low, high, by, off, without, isInteger }): Numbers | undefined => {
    const base = isInteger ? ANY_INTEGER : ANY_NUMBER;
    return intersectNumbers(base, {
      ...ANY_NUMBER,
      ...(low && { low }),
      ...(high && { high }),
      ...(by !== undefined && { step: decimalOf(by) }),
      offSteps: off === undefined ? [] : [decimalOf(off)],
      without: new Set(without),
    });
  });

/** Whether JSON.stringify's numeral may be missing from a language: large ones whose place on a grid is not plain from their form. */
function isLeftOut(set: Numbers, value: number): boolean {
  if (set.kind === 'list') return false;
  const isScientific = JSON.stringify(value).includes('e');
  return (
    isScientific &&
    ((set.step !== undefined && !set.isInteger) || set.step?.digits !== 1n || set.offSteps.length > 0)
  );
}

function check(set: Numbers | undefined, values: readonly number[]): void {
  if (!set) return;
  const languages = new RegularLanguages(new Fuel('the test'));
  const regex = numberRegex(set);
  const canonical = numberRegex(set, true);
  for (const value of values) {
    const text = JSON.stringify(value);
    const isIn = hasNumber(set, Number(text));
    const shown: string = `${text} in ${JSON.stringify(set, (_, of: unknown) => (typeof of === 'bigint' ? String(of) : of instanceof Set ? [...of] : of))}`;
    const isMatched = languages.matches(regex, text);
    if (isMatched || !isLeftOut(set, value)) assert.equal(isMatched, isIn, shown);
    assert.equal(languages.matches(canonical, text), isMatched, `canonical ${shown}`);
    if (text.includes('e')) continue;
    const longer = text.includes('.') ? `${text}0` : `${text}.0`;
    const isWritten: boolean =
      set.kind === 'range' && !set.isInteger && (listNumbers(set)?.values.size ?? Infinity) > 16;
    assert.equal(languages.matches(regex, longer), isIn && isWritten, `${longer}: ${shown}`);
    assert.equal(languages.matches(canonical, longer), false, `canonical ${longer}: ${shown}`);
  }
}

test('a numeral is in the language of a set exactly when its number is in the set', () => {
  fc.assert(fc.property(range, fc.array(someNumber, { minLength: 5, maxLength: 20 }), check), {
    numRuns: runsOf(200),
  });
});

test('near each bound the numerals are right', () => {
  fc.assert(
    fc.property(someNumber, fc.boolean(), fc.boolean(), (at, exclusive, isLow) => {
      const end = { at: decimalOf(at), exclusive };
      const values = [at, at + 1, at - 1, at + 0.5, at - 0.001, at * 10, at / 10, -at, at * 1.0000001].filter(
        Number.isFinite,
      );
      check(
        intersectNumbers(ANY_NUMBER, { ...ANY_NUMBER, ...(isLow ? { low: end } : { high: end }) }),
        values,
      );
      check(
        intersectNumbers(ANY_INTEGER, { ...ANY_NUMBER, ...(isLow ? { low: end } : { high: end }) }),
        values.map(Math.trunc),
      );
    }),
    { numRuns: runsOf(100) },
  );
});

test('what is not in a set is in the sets of others', () => {
  fc.assert(
    fc.property(range, fc.array(someNumber, { minLength: 5, maxLength: 20 }), (set, values) => {
      if (!set) return;
      const others = complementNumbers(set);
      for (const value of values)
        assert.equal(
          others.some((other) => hasNumber(other, value)),
          !hasNumber(set, value),
          String(value),
        );
    }),
    { numRuns: runsOf(100) },
  );
});

test('decimals are exact', () => {
  assert.equal(compare(decimalOf(0.1), decimalOf(1e-1)), 0);
  assert.ok(isMultiple(decimalOf(0.3), decimalOf(0.1)));
  assert.ok(isMultiple(decimalOf(12391239123), decimalOf(1e-8)));
  assert.ok(!isMultiple(decimalOf(0.00751), decimalOf(0.0001)));
  assert.ok(compare(decimalOf(1e21), decimalOf(999999999999999900000)) > 0);
});

test('texts that no JSON has are in no language of numbers', () => {
  const languages = new RegularLanguages(new Fuel('the test'));
  for (const set of [ANY_NUMBER, ANY_INTEGER]) {
    const regex = numberRegex(set);
    for (const text of [
      '',
      '-',
      '01',
      '-01',
      '+1',
      '1.',
      '.5',
      '1e',
      '1e+',
      '0x1',
      'NaN',
      'Infinity',
      '1e400',
      '--1',
      '1 ',
    ]) {
      assert.ok(!languages.matches(regex, text), text);
    }
    assert.ok(languages.matches(regex, '-0'));
  }
  const positive = intersectNumbers(ANY_NUMBER, {
    ...ANY_NUMBER,
    low: { at: decimalOf(0), exclusive: false },
  });
  assert.ok(positive && !languages.matches(numberRegex(positive), '-0'));
});

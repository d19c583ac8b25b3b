import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../../src/base/turns.ts';
import { StringFinder } from '../../src/text/string-finder.ts';
import fc from '../support/fast-check.ts';

const short = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 6 });
const long = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀', 'c'), maxLength: 60 });

test('what is found is what the text contains', () => {
  fc.assert(
    fc.property(fc.uniqueArray(short, { maxLength: 20 }), long, (strings, text) => {
      const found = finish(new StringFinder(strings).find(text));
      const expected = strings.flatMap((string, index) =>
        string !== '' && text.includes(string) ? [index] : [],
      );
      assert.deepEqual(
        [...found].sort((a, b) => a - b),
        expected,
      );
    }),
  );
});

test('strings inside one another are all found, and a text of nothing but beginnings is read once', () => {
  const strings = Array.from({ length: 2000 }, (_, i) => `${'a'.repeat(i)}b`);
  const finder = new StringFinder(strings);
  assert.equal(finish(finder.find('a'.repeat(100_000))).size, 0);
  assert.equal(finish(finder.find(`${'a'.repeat(1999)}b`)).size, 2000);
});

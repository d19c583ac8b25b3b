import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Packable, packed } from '../../src/base/msgpack.ts';
import { unpacked } from '../support/unpacked.ts';

test('values are written as the specification says', () => {
  const cases: readonly [Packable, string][] = [
    [null, 'c0'],
    [true, 'c3'],
    [false, 'c2'],
    [0, '00'],
    [127, '7f'],
    [128, 'cc80'],
    [256, 'cd0100'],
    [65_536, 'ce00010000'],
    [2 ** 32, 'cf0000000100000000'],
    [0xffffffffffffffffn, 'cfffffffffffffffff'],
    [-1, 'ff'],
    [-32, 'e0'],
    [-33, 'd3ffffffffffffffdf'],
    [1.5, 'cb3ff8000000000000'],
    ['', 'a0'],
    ['é', 'a2c3a9'],
    [[], '90'],
    [[1, ['a']], '920191a161'],
    [{}, '80'],
    [{ a: 1, b: [null, { c: 2 }] }, '82a16101a16292c081a16302'],
  ];
  for (const [value, hex] of cases) assert.equal(Buffer.from(packed(value)).toString('hex'), hex);
});

test('long texts and lists come back as they were', () => {
  const long = [...[31, 32, 255, 256, 70_000].map((length) => 'x'.repeat(length))];
  const lists = [15, 16, 65_535, 65_536].map((length) => Array.from({ length }, (_, at) => at));
  const map = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`key ${at}`, at]));
  for (const value of [...long.slice(0, 4), ...lists, map]) assert.deepEqual(unpacked(packed(value)), value);
  assert.equal(Buffer.from(packed(long[4] ?? '').subarray(0, 5)).toString('hex'), 'db00011170');
});

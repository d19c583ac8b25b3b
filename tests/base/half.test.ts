import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bfloatToFloat, floatToBfloat, floatToHalf, halfToFloat } from '../../src/base/half.ts';
import fc from '../support/fast-check.ts';

test('every half float survives widening and narrowing', () => {
  for (let bits = 0; bits < 65536; bits++) {
    const value = halfToFloat(bits);
    if (Number.isNaN(value)) assert.ok(Number.isNaN(halfToFloat(floatToHalf(value))));
    else assert.equal(floatToHalf(value), bits);
  }
});

test('narrowing to half picks the nearest, ties to even', () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, min: -65519, max: 65519 }), (value) => {
      const bits = floatToHalf(value);
      const error = Math.abs(halfToFloat(bits) - value);
      for (const other of [bits - 1, bits + 1]) {
        if ((other & 0x7c00) === 0x7c00 || other < 0) continue;
        const distance = Math.abs(halfToFloat(other) - value);
        assert.ok(error < distance || (error === distance && (bits & 1) === 0));
      }
    }),
  );
});

test('bfloat keeps its own values and rounds the rest to nearest', () => {
  for (let bits = 0; bits < 65536; bits++) {
    const value = bfloatToFloat(bits);
    if (Number.isNaN(value)) assert.ok(Number.isNaN(bfloatToFloat(floatToBfloat(value))));
    else assert.equal(floatToBfloat(value), bits);
  }
  assert.equal(floatToBfloat(1 + 2 ** -8), 0x3f80);
  assert.equal(floatToBfloat(1 + 3 * 2 ** -8), 0x3f82);
});

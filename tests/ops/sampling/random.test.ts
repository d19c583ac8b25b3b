import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawUniform } from '../../../src/ops/sampling/random.ts';
import fc from '../../support/fast-check.ts';

/** pcg3d's first output in exact integers, as a second opinion on the wrapping arithmetic. */
function pcg3d(...input: [number, number, number]): number {
  const wrap = (value: bigint) => BigInt.asUintN(32, value);
  let [x, y, z] = input.map((word) => wrap(wrap(BigInt(word)) * 1664525n + 1013904223n)) as [
    bigint,
    bigint,
    bigint,
  ];
  x = wrap(x + y * z);
  y = wrap(y + z * x);
  z = wrap(z + x * y);
  [x, y, z] = [x ^ (x >> 16n), y ^ (y >> 16n), z ^ (z >> 16n)];
  return Number(wrap(x + y * z) >> 8n) / 2 ** 24;
}

test('the draw is pcg3d in wrapping 32-bit arithmetic', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.nat(), (low, high, position) => {
      assert.equal(drawUniform(low, high, position), pcg3d(low, high, position));
    }),
  );
  assert.equal(drawUniform(0, 0, 0), pcg3d(0, 0, 0));
});

/** Pearson's statistic of draws against 64 equal bins: 63 degrees of freedom, 120 is beyond one in 100 000. */
function chiSquare(draws: readonly number[]): number {
  const bins = new Array<number>(64).fill(0);
  for (const draw of draws) bins[Math.floor(draw * 64)] = (bins[Math.floor(draw * 64)] as number) + 1;
  const expected = draws.length / 64;
  return bins.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

test('draws are even over positions, over seeds, and between neighbours', () => {
  const count = 20_000;
  const over = (draw: (i: number) => number) => chiSquare(Array.from({ length: count }, (_, i) => draw(i)));
  assert.ok(over((i) => drawUniform(0, 0, i)) < 120);
  assert.ok(over((i) => drawUniform(i, 0, 7)) < 120);
  assert.ok(over((i) => drawUniform(0, i, 7)) < 120);
  assert.ok(over((i) => (drawUniform(5, 0, i) - drawUniform(5, 0, i + 1) + 1) % 1) < 120);
  assert.ok(over((i) => (drawUniform(i, 0, 3) - drawUniform(i + 1, 0, 3) + 1) % 1) < 120);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../src/base/histogram.ts';
import fc from '../support/fast-check.ts';

test('quantiles are those of the values, within a bucket', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.002, max: 1e5, noNaN: true }), { minLength: 1, maxLength: 300 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (values, share) => {
        const histogram = new Histogram();
        for (const value of values) histogram.add(value);
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(share * values.length)) - 1] as number;
        const ratio = histogram.quantile(share) / exact;
        assert.ok(ratio > 0.9 && ratio < 1.1, `${histogram.quantile(share)} of ${exact}`);
        assert.equal(histogram.max, sorted.at(-1));
        assert.equal(histogram.count, values.length);
        assert.ok(
          Math.abs(histogram.mean - histogram.total / values.length) < 1e-9 * histogram.total + 1e-12,
        );
      },
    ),
  );
});

test('of nothing everything is 0, and what is below a microsecond or above hours is counted', () => {
  const histogram = new Histogram();
  assert.deepEqual([histogram.mean, histogram.max, histogram.quantile(0.5)], [0, 0, 0]);
  histogram.add(0);
  histogram.add(1e12);
  assert.equal(histogram.count, 2);
  assert.ok(histogram.quantile(0.5) <= 0.001 && histogram.quantile(1) > 1e5);
});

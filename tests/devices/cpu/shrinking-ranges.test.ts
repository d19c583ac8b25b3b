import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShrinkingRanges } from '../../../src/devices/cpu/worker/shrinking-ranges.ts';

/** The lengths of all ranges. */
function lengths(columns: number, least: number, threads: number): number[] {
  const ranges = new ShrinkingRanges(columns, least, threads);
  return Array.from({ length: ranges.count }, (_, i) => ranges.end(i) - ranges.begin(i));
}

test('ranges follow one another, cover all columns, and do not grow', () => {
  for (const [columns, least, threads] of [
    [1, 4, 16],
    [40, 4, 1],
    [4096, 32, 16],
    [14336, 32, 16],
    [1003, 32, 3],
    [128256, 64, 256],
  ] as const) {
    const ranges = new ShrinkingRanges(columns, least, threads);
    let at = 0;
    for (let i = 0; i < ranges.count; i++) {
      assert.equal(ranges.begin(i), at);
      assert.ok(ranges.end(i) > at);
      at = ranges.end(i);
    }
    assert.equal(at, columns);
    const all = lengths(columns, least, threads);
    const whole = all.slice(0, -1);
    assert.ok(whole.every((length, i) => length % least === 0 && length >= (all[i + 1] as number)));
  }
});

test('the first range is half of a thread’s share, and the last ones are the least there are', () => {
  assert.equal(lengths(4096, 32, 16)[0], 128);
  assert.deepEqual(lengths(4096, 32, 16).slice(-4), [32, 32, 32, 32]);
});

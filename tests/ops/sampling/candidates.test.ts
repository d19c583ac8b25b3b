import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Candidates } from '../../../src/ops/sampling/candidates.ts';
import fc from '../../support/fast-check.ts';

const logitsOf = fc
  .array(fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constantFrom(Number.NaN, -Infinity, Infinity)), {
    minLength: 1,
    maxLength: 60,
  })
  .map((values) => Float32Array.from(values));

function sortedIds(logits: Float32Array): number[] {
  return [...logits.keys()]
    .filter((id) => (logits[id] as number) > -Infinity)
    .sort((a, b) => (logits[a] === logits[b] ? a - b : (logits[b] as number) - (logits[a] as number)));
}

function idsByRank(candidates: Candidates, count: number): number[] {
  return Array.from({ length: count }, (_, rank) => candidates.ids[candidates.indexOf(rank)] as number);
}

test('candidates are ranked by key, then by id, however few are asked for', () => {
  fc.assert(
    fc.property(logitsOf, fc.nat(60), (logits, asked) => {
      const expected = sortedIds(logits);
      const candidates = new Candidates(logits.length);
      candidates.fillAll(logits);
      assert.equal(candidates.count, expected.length);
      const some = Math.min(asked, expected.length);
      assert.deepEqual(idsByRank(candidates, some), expected.slice(0, some));
      assert.deepEqual(idsByRank(candidates, expected.length), expected);
    }),
  );
});

test('fillTop finds the best ones in one pass', () => {
  fc.assert(
    fc.property(logitsOf, fc.integer({ min: 1, max: 70 }), (logits, limit) => {
      const expected = sortedIds(logits).slice(0, limit);
      const candidates = new Candidates(logits.length);
      candidates.fillTop(logits, limit);
      assert.equal(candidates.count, expected.length);
      assert.deepEqual(idsByRank(candidates, expected.length), expected);
    }),
  );
});

test('keepBest and keepAbove leave the right ones, in rank order', () => {
  fc.assert(
    fc.property(
      logitsOf,
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: -5, max: 5 }),
      (logits, limit, floor) => {
        const candidates = new Candidates(logits.length);
        candidates.fillAll(logits);
        candidates.keepBest(limit);
        candidates.keepAbove(floor);
        const expected = sortedIds(logits)
          .slice(0, limit)
          .filter((id) => (logits[id] as number) >= floor);
        assert.equal(candidates.count, expected.length);
        assert.deepEqual(idsByRank(candidates, expected.length), expected);
      },
    ),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../support/fast-check.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { ExpertCache } from '../../src/plan/weights/expert-cache.ts';

test('experts of a group have slots of their own, and only they are loaded that had none', () => {
  const group = fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(group, { maxLength: 30 }), (groups) => {
      const cache = new ExpertCache(12, 5);
      /** What a device would have in its slots. */
      const slots = new Map<number, number>();
      for (const chosen of groups) {
        const distinct = cache.use(Int32Array.from(chosen), 1);
        assert.deepEqual(distinct.toSorted(), chosen.toSorted());
        for (const { expert, slot } of cache.admit(distinct)) slots.set(slot, expert);
        for (const expert of chosen) assert.equal(slots.get(cache.slotOf(expert)), expert);
      }
    }),
  );
});

test('what is used most stays, while others come and go', () => {
  const cache = new ExpertCache(8, 3);
  const use = (...ids: number[]) =>
    cache.admit(cache.use(Int32Array.from(ids), 1)).map(({ expert }) => expert);
  assert.deepEqual(use(0, 1), [0, 1]);
  assert.deepEqual(use(0, 1), []);
  for (const other of [2, 3, 4, 5]) assert.deepEqual(use(other), [other]);
  assert.deepEqual(use(0, 1), []);
});

test('what was used most long ago goes', () => {
  const cache = new ExpertCache(4, 1);
  const use = (id: number, rows: number) => cache.admit(cache.use(new Int32Array(rows).fill(id), rows));
  use(0, 500);
  for (let i = 0; i < 40; i++) cache.use(Int32Array.of(1), 10_000);
  cache.admit([1]);
  assert.deepEqual([cache.slotOf(0), cache.slotOf(1)], [-1, 0]);
});

test('a group keeps the slots of the group that is being computed', () => {
  const cache = new ExpertCache(6, 4);
  cache.admit([0, 1]);
  const slots = cache.admit([2, 3], [0, 1]).map(({ slot }) => slot);
  assert.equal(new Set([...slots, cache.slotOf(0), cache.slotOf(1)]).size, 4);
  cache.drop(2);
  assert.equal(cache.slotOf(2), -1);
  cache.clear();
  assert.equal(cache.slotOf(0), -1);
});

test('at a skew of Zipf 1.0 with 40 % of the slots, under a quarter of the choices is missed', () => {
  const [experts, slots, topK] = [128, 51, 8];
  const random = seededRandom(7);
  const shares = Array.from({ length: experts }, (_, i) => 1 / (1 + i));
  const draw = (): Int32Array => {
    // The largest of -log(u) / share: a draw without replacement by these shares (Efraimidis and Spirakis 2006).
    const keys = shares.map((share, i) => [Math.log(random() || 1e-300) / share, i] as const);
    return Int32Array.from(keys.sort(([a], [b]) => b - a).slice(0, topK), ([, i]) => i);
  };
  const cache = new ExpertCache(experts, slots);
  let misses = 0;
  for (let token = 0; token < 1500; token++) {
    const missing = cache.admit(cache.use(draw(), 1)).length;
    if (token >= 500) misses += missing;
  }
  const rate = misses / (1000 * topK);
  assert.ok(rate > 0.1 && rate < 0.25, `${rate}`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type DryBreakers,
  type DryParameters,
  dryPenalties,
  MAX_DRY_PENALTIES,
} from '../../../src/ops/index.ts';
import fc from '../../support/fast-check.ts';

const PLAIN: DryParameters = { multiplier: 1, base: 1.1, allowedLength: 2, window: -1, breakers: new Map() };

const breaking = (...sequences: readonly number[][]): DryBreakers =>
  new Map(sequences.map(([head, ...tail]) => [head as number, [tail]]));

/** What equal probabilities become. */
function probabilities(tokens: number, penalties: ReadonlyMap<number, number>): number[] {
  const weights = Array.from({ length: tokens }, (_, id) => Math.exp(-(penalties.get(id) ?? 0)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

test('llama.cpp’s own cases give its values', () => {
  const cases: [number[], Partial<DryParameters>, number[]][] = [
    [[0, 1], { window: 4 }, [0.25, 0.25, 0.25, 0.25]],
    [[0, 1, 2, 0, 1], { window: 5 }, [0.296923, 0.296923, 0.109232, 0.296923]],
    [[0, 1, 3, 4, 0, 1], { window: 6, breakers: breaking([3]) }, [0.2, 0.2, 0.2, 0.2, 0.2]],
    [[0, 1, 2, 0, 1], { window: 5, multiplier: 2 }, [0.241818, 0.241818, 0.032727, 0.241818, 0.241818]],
    [[0, 1, 2, 3, 4, 0, 1], { window: 7, allowedLength: 4 }, [0.2, 0.2, 0.2, 0.2, 0.2]],
  ];
  for (const [ids, parameters, expected] of cases) {
    const actual = probabilities(expected.length, dryPenalties(ids, { ...PLAIN, ...parameters }));
    actual.forEach((value, id) => assert.ok(Math.abs(value - (expected[id] as number)) < 1e-5));
  }
});

/** Every earlier end of the text, compared token by token. */
function naive(given: readonly number[], of: DryParameters): Map<number, number> {
  const ids = of.window < 0 ? given : given.slice(Math.max(0, given.length - of.window));
  let limit = ids.length;
  for (let at = ids.length - 1; at >= 0 && limit === ids.length; at--) {
    const tails = of.breakers.get(ids[at] as number) ?? [];
    const found = tails
      .filter((tail) => tail.every((id, i) => ids[at + 1 + i] === id))
      .map((tail) => tail.length);
    if (found.length > 0) limit = ids.length - 1 - at - Math.max(...found);
  }
  const longest = new Map<number, number>();
  for (let next = 1; next < ids.length; next++) {
    let length = 0;
    while (length < next && ids[next - 1 - length] === ids[ids.length - 1 - length]) length++;
    length = Math.min(length, limit);
    const id = ids[next] as number;
    if (length >= of.allowedLength) longest.set(id, Math.max(longest.get(id) ?? 0, length));
  }
  if (ids.length <= of.allowedLength || limit < of.allowedLength) return new Map();
  const penalized = [...longest].filter(([id]) => !of.breakers.get(id)?.some((tail) => tail.length === 0));
  return new Map(
    penalized.map(([id, length]) => [id, of.multiplier * of.base ** (length - of.allowedLength)]),
  );
}

test('the penalties are those of comparing every earlier end of the text', () => {
  const id = fc.nat(3);
  const breakers = fc
    .array(fc.tuple(fc.nat(5), fc.array(id, { maxLength: 2 })), { maxLength: 3 })
    .map((pairs) => {
      const found = new Map<number, number[][]>();
      for (const [head, tail] of pairs) found.set(head, [...(found.get(head) ?? []), tail]);
      return found;
    });
  const parameters = fc.record({
    multiplier: fc.constantFrom(0.8, 2),
    base: fc.constantFrom(1, 1.75),
    allowedLength: fc.nat(3),
    window: fc.constantFrom(-1, 5, 12),
    breakers,
  });
  fc.assert(
    fc.property(fc.array(id, { maxLength: 30 }), parameters, (ids, of) => {
      const byId = (map: ReadonlyMap<number, number>) => [...map].sort(([a], [b]) => a - b);
      assert.deepEqual(byId(dryPenalties(ids, of)), byId(naive(ids, of)));
    }),
    { numRuns: 500 },
  );
});

test('nothing is penalized by no multiplier, a base below 1 or a window of 0', () => {
  const ids = [1, 2, 3, 1, 2];
  assert.equal(dryPenalties(ids, PLAIN).size, 1);
  for (const off of [{ multiplier: 0 }, { base: 0.9 }, { window: 0 }]) {
    assert.equal(dryPenalties(ids, { ...PLAIN, ...off }).size, 0);
  }
});

test('penalties of very long repetitions stay numbers, and only so many tokens have one', () => {
  const same = new Array<number>(5000).fill(7);
  const [penalty] = dryPenalties(same, { ...PLAIN, base: 1.75 }).values();
  assert.ok(penalty !== undefined && penalty > 1e37 && Math.fround(penalty) < Infinity);
  const many = Array.from({ length: 2 * MAX_DRY_PENALTIES }, (_, i) => [900, 1000 + i]).flat();
  const found = dryPenalties([800, 900, 5, ...many, 800, 900], { ...PLAIN, allowedLength: 1 });
  assert.equal(found.size, MAX_DRY_PENALTIES);
  assert.equal(found.get(5), 1.1, 'the longest repetition is among them');
});

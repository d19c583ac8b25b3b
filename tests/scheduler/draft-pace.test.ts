import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/seeded-random.ts';
import {
  type DraftCount,
  type DraftLimits,
  DraftPace,
  expectedTokens,
} from '../../src/scheduler/draft-pace.ts';
import fc from '../support/fast-check.ts';

/** Milliseconds of a step, by its sequences and the draft tokens of each. */
type Cost = (sequences: number, drafts: number) => number;

/** A weight-bound step: rows cost little. */
const BOUND: Cost = (sequences, drafts) => 10 + 0.7 * sequences * (1 + drafts);
/** A step in which every row costs. */
const BY_ROWS: Cost = (sequences, drafts) => 1 + sequences * (1 + drafts);

const MAX = 6;

/** An engine whose steps take stated times, and whose draft tokens are right with a stated probability. */
class Simulation {
  readonly #pace: DraftPace;
  readonly #random = seededRandom(5);
  readonly chosen: number[] = [];

  constructor(limits: Partial<DraftLimits> = {}) {
    this.#pace = new DraftPace({ max: MAX, min: 0, adapts: true, ...limits });
  }

  /** Runs steps of sequences that start with this, and returns the number of draft tokens in most of the last ones. */
  run(steps: number, of: { sequences: number; cost: Cost; acceptance: number }): number {
    const counts = Array.from({ length: of.sequences }, () => this.#pace.follow(this.#pace.limits.max));
    this.chosen.length = 0;
    for (let step = 0; step < steps; step++) this.#step(counts, of);
    const last = this.chosen.slice(-60).toSorted((a, b) => a - b);
    return last[last.length >> 1] as number;
  }

  #step(counts: readonly DraftCount[], { cost, acceptance }: { cost: Cost; acceptance: number }): void {
    const chosen = counts.map((count) => count.choose());
    const drafts = chosen.reduce((sum, one) => sum + one, 0);
    this.chosen.push(chosen[0] as number);
    for (const [index, proposed] of chosen.entries()) {
      let accepted = 0;
      while (accepted < proposed && this.#random() < acceptance) accepted++;
      if (proposed > 0) counts[index]?.verified(proposed, accepted);
    }
    const without = chosen.filter((one) => one === 0).length;
    const ms = cost(counts.length, drafts / counts.length) * (1 + 0.02 * this.#random());
    // Results of pipelined steps arrive late, and those behind them at once.
    const bunched = without < counts.length ? ms : ms * (this.chosen.length % 3 === 0 ? 2.8 : 0.1);
    this.#pace.measured({ sequences: counts.length, drafts, without, never: 0, ms: bunched });
  }

  /** Runs steps of sequences that may have no drafts. */
  runPlain(steps: number, sequences: number, cost: Cost): void {
    for (let step = 0; step < steps; step++) {
      const ms = cost(sequences, 0);
      this.#pace.measured({ sequences, drafts: 0, without: sequences, never: sequences, ms });
    }
  }
}

/** The most tokens per time of any number of draft tokens, and those of one. */
function goodput(of: { sequences: number; cost: Cost; acceptance: number }, drafts: number): number {
  return expectedTokens(of.acceptance, drafts) / of.cost(of.sequences, drafts);
}

test('as many tokens are expected as the geometric distribution says', () => {
  assert.equal(expectedTokens(0, 5), 1);
  assert.equal(expectedTokens(1, 5), 6);
  assert.equal(expectedTokens(0.5, 2), 1.75);
});

test('drafts are as many as gain the most, and none where they cost more than they save', () => {
  const alone = { sequences: 1, cost: BOUND };
  assert.equal(new Simulation().run(300, { ...alone, acceptance: 0.98 }), MAX);
  assert.equal(new Simulation().run(300, { ...alone, acceptance: 0 }), 0);
  const full = { sequences: 64, cost: BY_ROWS };
  assert.equal(new Simulation().run(300, { ...full, acceptance: 0.7 }), 0);
});

test('whatever steps cost and drafts are worth, the choice is nearly the best', () => {
  const costs = fc.record({ fixed: fc.integer({ min: 1, max: 20 }), row: fc.integer({ min: 1, max: 400 }) });
  fc.assert(
    fc.property(
      costs,
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 100 }),
      (by, sequences, rate) => {
        const cost: Cost = (count, drafts) => by.fixed + 0.01 * by.row * count * (1 + drafts);
        const of = { sequences, cost, acceptance: rate / 100 };
        const chosen = new Simulation().run(400, of);
        const best = Math.max(...Array.from({ length: MAX + 1 }, (_, drafts) => goodput(of, drafts)));
        // The acceptance of a sequence is measured over few tokens.
        assert.ok(goodput(of, chosen) > 0.85 * best, `${chosen}: ${goodput(of, chosen)} of ${best}`);
      },
    ),
    { numRuns: 40 },
  );
});

test('steps of sequences that may have no drafts cost no lesson, and more drafts than were measured are tried', () => {
  // Drafts cost twice a step, and further ones nothing.
  const cost: Cost = (_, drafts) => (drafts > 0 ? 3 : 1);
  for (let plain = 0; plain < 100; plain += 5) {
    const simulation = new Simulation();
    simulation.runPlain(plain, 1, cost);
    assert.equal(simulation.run(60, { sequences: 1, cost, acceptance: 1 }), MAX, `after ${plain} steps`);
  }
});

test('drafts that were given up come back when they are right again, and when the load falls', () => {
  const simulation = new Simulation();
  const alone = { sequences: 1, cost: BOUND };
  assert.equal(simulation.run(400, { ...alone, acceptance: 0 }), 0);
  const lessons = simulation.chosen.slice(-200).filter((drafts) => drafts > 0).length;
  assert.ok(lessons > 0 && lessons < 20, `${lessons} of 200 steps had drafts`);
  assert.equal(simulation.run(700, { ...alone, acceptance: 0.98 }), MAX);
  const loaded = new Simulation();
  assert.equal(loaded.run(400, { sequences: 32, cost: BY_ROWS, acceptance: 0.8 }), 0);
  assert.ok(loaded.run(100, { ...alone, acceptance: 0.98 }) > 3);
});

test('limits hold: never fewer than the minimum, and always the maximum if the number does not adapt', () => {
  const least = new Simulation({ min: 3 });
  least.run(400, { sequences: 2, cost: (_, drafts) => 4 + 2 * drafts, acceptance: 0.6 });
  assert.ok(least.chosen.every((drafts) => drafts === 0 || drafts >= 3));
  const fixed = new Simulation({ adapts: false });
  fixed.run(100, { sequences: 64, cost: BY_ROWS, acceptance: 0 });
  assert.deepEqual(new Set(fixed.chosen), new Set([MAX]));
});

test('a sequence whose drafts are right has them beside one whose are not', () => {
  const pace = new DraftPace({ max: MAX, min: 0, adapts: true });
  const [right, wrong] = [pace.follow(MAX), pace.follow(MAX)];
  const chosen: [number, number][] = [];
  for (let step = 0; step < 200; step++) {
    const [a, b] = [right.choose(), wrong.choose()];
    chosen.push([a, b]);
    if (a > 0) right.verified(a, a);
    if (b > 0) wrong.verified(b, 0);
    const without = (a === 0 ? 1 : 0) + (b === 0 ? 1 : 0);
    pace.measured({ sequences: 2, drafts: a + b, without, never: 0, ms: BOUND(2, (a + b) / 2) });
  }
  const count = (is: (pair: [number, number]) => boolean) => chosen.slice(50).filter(is).length;
  assert.ok(count(([a, b]) => a === MAX && b <= 1) > 120, chosen.join(' '));
});

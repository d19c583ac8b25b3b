import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promptShares, type SchedulingClass, SlotShares } from '../../src/scheduler/fair-shares.ts';
import fc from '../support/fast-check.ts';

interface Waits {
  readonly name: string;
  readonly scheduling?: SchedulingClass | undefined;
}

function sequence(name: string, scheduling?: SchedulingClass): Waits {
  return { name, scheduling };
}

function names(sequences: readonly Waits[]): string {
  return sequences.map(({ name }) => name).join(' ');
}

test('those who wait are admitted by urgency, then by what their tenant and their request have, then as they came', () => {
  const running = [
    sequence('r1', { tenant: 'a', request: '1' }),
    sequence('r2', { tenant: 'a', request: '1' }),
    sequence('r3', { tenant: 'b', request: '1' }),
  ];
  const waiting = [
    sequence('a1', { tenant: 'a', request: '1' }),
    sequence('a2', { tenant: 'a', request: '2' }),
    sequence('b1', { tenant: 'b', request: '1' }),
    sequence('c1', { tenant: 'c' }),
    sequence('c2', { tenant: 'c' }),
    sequence('late', { tenant: 'c', priority: 1 }),
    sequence('urgent', { tenant: 'a', request: '1', priority: -1 }),
  ];
  assert.equal(names(new SlotShares(running).order(waiting)), 'urgent c1 c2 b1 a2 a1 late');
  const plain = [sequence('x'), sequence('y')];
  assert.deepEqual(new SlotShares(plain).order(plain), plain, 'who says nothing waits as he came');
});

test('a slot is taken from whoever has more than a fair share, the latest first, and from nobody else', () => {
  const greedy = [1, 2, 3, 4].map((i) => sequence(`n${i}`, { request: 'many' }));
  const one = sequence('one', { request: 'one' });
  const by = (waits: Waits, running: readonly Waits[]) => new SlotShares(running).preemptedFor(waits)?.name;
  assert.equal(by(one, greedy), 'n4');
  assert.equal(by(one, greedy.slice(0, 1)), undefined, 'one for each is fair');
  const half = [...greedy.slice(0, 2), ...[1, 2].map((i) => sequence(`o${i}`, { request: 'one' }))];
  assert.equal(by(one, half), undefined, 'as many for each is fair');
  assert.equal(by(greedy[0] as Waits, greedy), undefined, 'nobody takes his own');
  const tenants = ['x', 'y', 'z'].map((request) => sequence(request, { tenant: 'a', request }));
  assert.equal(
    by(sequence('b', { tenant: 'b' }), tenants),
    'z',
    'many requests are as greedy as one of many',
  );
  assert.equal(by(sequence('b', { tenant: 'a' }), tenants), undefined);
  assert.equal(by(sequence('now', { priority: -1 }), tenants.slice(0, 1)), 'x');
  assert.equal(by(sequence('later', { priority: 1 }), greedy), undefined, 'less urgent takes nothing');
});

test('rows of prompts are shared out whole, half of them to the first, and nobody gets more than is left of it', () => {
  assert.deepEqual(promptShares([1000, 1000], 100), [50, 50]);
  assert.deepEqual(promptShares([1000, 10, 1000, 1000], 100), [50, 10, 20, 20]);
  assert.deepEqual(promptShares([1000, 10], 100), [90, 10]);
  assert.deepEqual(promptShares([10, 1000], 100), [10, 90]);
  const left = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(left, fc.integer({ min: 1, max: 512 }), (wanted, rows) => {
      const shares = promptShares(wanted, rows);
      const sum = shares.reduce((total, share) => total + share, 0);
      const most = wanted.reduce((total, of) => total + of, 0);
      assert.equal(sum, Math.min(rows, most));
      assert.ok(shares.every((share, i) => share >= 0 && share <= (wanted[i] as number)));
      assert.ok((shares[0] as number) >= Math.min(wanted[0] as number, Math.ceil(rows / 2)));
    }),
  );
});

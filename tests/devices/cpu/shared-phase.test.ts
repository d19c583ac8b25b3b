import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ControlBlock } from '../../../src/devices/cpu/protocol/control.ts';
import { SharedPhase } from '../../../src/devices/cpu/worker/shared-phase.ts';

/** Two workers' views of one phase. */
function pair() {
  const control = ControlBlock.create();
  return [new SharedPhase(control), new SharedPhase(control)] as const;
}

test('a phase ends without a worker that has taken none of its chunks', () => {
  const [one] = pair();
  one.open(1, 0, 3);
  assert.deepEqual([one.take(), one.take(), one.take()], [1, 2, -1]);
  assert.equal(one.report(3), true);
});

test('a phase waits for each chunk taken, and whoever reports the last one closes it', () => {
  const [one, other] = pair();
  one.open(1, 0, 3);
  assert.equal(other.take(), 1);
  assert.equal(one.take(), 2);
  assert.deepEqual([one.take(), other.take()], [-1, -1]);
  assert.equal(one.report(2), false);
  assert.equal(other.report(1), true);
});

test('a worker that comes late takes a chunk of the phase that is open then', () => {
  const [one, late] = pair();
  one.open(1, 0, 2);
  assert.equal(one.take(), 1);
  assert.equal(late.take(), -1);
  assert.equal(one.report(2), true);
  one.open(1, 1, 1);
  assert.equal(late.take(), -1);
  assert.equal(one.report(1), true);
  one.open(2, 5, 2);
  assert.equal(late.take(), 1);
  assert.deepEqual([late.command, late.index], [2, 5]);
});

test('the generation changes with chunks for others and with the end of a command, not with a chunk for the opener alone', () => {
  const [one, other] = pair();
  const begin = other.generation;
  one.open(1, 0, 1);
  assert.equal(other.generation, begin);
  assert.equal(one.report(1), true);
  one.open(1, 1, 2);
  assert.notEqual(other.generation, begin);
  const open = other.generation;
  one.release();
  assert.notEqual(other.generation, open);
});

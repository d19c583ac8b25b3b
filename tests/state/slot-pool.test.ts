import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlotPool } from '../../src/state/slot-pool.ts';
import { PagedGroup } from '../../src/state/paged-group.ts';
import { SequenceState } from '../../src/state/sequence-state.ts';
import { SlotGroup } from '../../src/state/slot-group.ts';
import { WindowedGroup } from '../../src/state/windowed-group.ts';

function poolOf(blocks: number, slots: number) {
  const group = new PagedGroup({ blocks, slots, context: 320 });
  return { group, pool: new SlotPool(new SequenceState([group], 320), slots) };
}

const count = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);

test('a sequence gets the slot that holds most of its beginning, its last id to be computed again', () => {
  const { pool } = poolOf(20, 3);
  const taken = [pool.take([1]), pool.take([1]), pool.take([1])].map((of) => of?.slot as number);
  assert.deepEqual(new Set(taken), new Set([0, 1, 2]));
  assert.equal(pool.take([1]), undefined);
  for (const slot of taken) assert.ok(pool.reserve(slot, 0, 100));
  pool.give(0, count(50));
  pool.give(1, count(80));
  pool.give(2, count(90, 7));
  assert.deepEqual(pool.take([...count(70), 999]), { slot: 1, held: 70 });
  assert.deepEqual(pool.take(count(50)), { slot: 0, held: 49 });
  assert.deepEqual(pool.take(count(50)), { slot: 2, held: 0 });
});

test('memory comes from the slot that was idle longest, never from one in use', () => {
  const { group, pool } = poolOf(4, 3);
  for (const slot of [0, 1]) {
    assert.equal(pool.take([slot])?.slot, slot);
    assert.ok(pool.reserve(slot, 0, 64));
  }
  assert.equal(pool.take([2])?.slot, 2);
  assert.equal(pool.reserve(2, 0, 32), false);
  pool.give(1, count(64));
  pool.give(0, count(64, 500));
  assert.ok(pool.reserve(2, 0, 32));
  assert.deepEqual(
    [0, 1, 2].map((slot) => group.blocksOf(slot)),
    [2, 0, 1],
  );
  pool.forget();
  assert.equal(group.freeBlocks, 3);
});

test('a state that cannot go back serves a sequence whole or not at all', () => {
  const group = new SlotGroup({ slots: 1, context: 1000, checkpoints: false });
  const pool = new SlotPool(new SequenceState([group], 1000), 1);
  const compute = (first: number, end: number) => pool.advance(0, { first, end, settled: end }, 1);
  assert.deepEqual(pool.take(count(5)), { slot: 0, held: 0 });
  compute(0, 20);
  pool.give(0, count(20));
  assert.deepEqual(pool.take(count(30)), { slot: 0, held: 20 });
  pool.give(0, count(20));
  assert.deepEqual(pool.take([...count(15), 99, 98]), { slot: 0, held: 0 });
  compute(0, 20);
  pool.give(0, count(20));
  assert.deepEqual(pool.take(count(20)), { slot: 0, held: 0 });
  // A step was queued behind the last id that was read.
  compute(0, 21);
  pool.give(0, count(20));
  assert.deepEqual(pool.take(count(30)), { slot: 0, held: 0 });
});

test('a window serves a sequence where its blocks are there, to go on or to be shared', () => {
  const group = new WindowedGroup({ blocks: 8, slots: 2, context: 1000, window: 64 });
  const pool = new SlotPool(new SequenceState([group], 1000), 2);
  const compute = (slot: number, end: number) => {
    for (let first = 0; first < end; first += 32) {
      assert.ok(pool.reserve(slot, first, first + 32));
      pool.advance(slot, { first, end: first + 32, settled: first + 32 }, 32);
    }
  };
  assert.deepEqual(pool.take(count(5)), { slot: 0, held: 0 });
  compute(0, 320);
  const used = [{ slot: 0, ids: count(320), length: 320 }];
  assert.deepEqual(pool.take([...count(300), 999], used), { slot: 1, held: 288 }, 'its window is shared');
  pool.give(1, count(288));
  assert.deepEqual(
    pool.take([...count(40), 999], used),
    { slot: 1, held: 0 },
    'of that far back nothing is there',
  );
  pool.give(1, []);
  pool.give(0, count(320));
  assert.deepEqual(pool.take([...count(320), 999]), { slot: 0, held: 320 });
});

test('slots share whole blocks of what another sequence begins with, and keep the rest', () => {
  const { group, pool } = poolOf(20, 3);
  assert.deepEqual(pool.take(count(5)), { slot: 0, held: 0 });
  assert.ok(pool.reserve(0, 0, 150));
  const used = [{ slot: 0, ids: count(150), length: 100 }];
  assert.deepEqual(pool.take(count(150), used), { slot: 1, held: 96 });
  assert.equal(group.freeBlocks, 15, 'three blocks are shared');
  pool.give(0, count(150));
  assert.deepEqual(pool.take([...count(70), 999]), { slot: 2, held: 64 });
  pool.give(2, count(64));
  assert.deepEqual(pool.take([...count(150), 999]), { slot: 0, held: 150 }, 'it still holds all of it');
  pool.give(0, count(150));
  assert.deepEqual(pool.take([...count(40), 999]), { slot: 2, held: 32 }, 'a shared block is not written');
});

test('a slot is not emptied for another to keep its end', () => {
  const { pool } = poolOf(20, 2);
  for (const [slot, from] of [0, 500].entries()) {
    assert.equal(pool.take([from])?.slot, slot);
    assert.ok(pool.reserve(slot, 0, 150));
  }
  for (const [slot, from] of [0, 500].entries()) pool.give(slot, count(150, from));
  assert.deepEqual(pool.take([...count(70), 999]), { slot: 0, held: 70 });
  assert.deepEqual(pool.take([...count(70, 500), 999]), { slot: 1, held: 70 });
});

test('a sequence with nothing in common takes an empty slot before one that holds something', () => {
  const { pool } = poolOf(20, 3);
  assert.equal(pool.take([1])?.slot, 0);
  assert.ok(pool.reserve(0, 0, 50));
  pool.give(0, count(50));
  assert.equal(pool.take([77])?.slot, 1);
});

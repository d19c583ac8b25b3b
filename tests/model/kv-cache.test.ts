import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { blocksFor, KV_BLOCK_SIZE, KvCache } from '../../src/model/kv-cache.ts';

const SLOTS = 4;
const BLOCKS = 10;
const CONTEXT = 6 * KV_BLOCK_SIZE;

test('no block is owned twice and none is lost, whatever is reserved and truncated', () => {
  const step = fc.record({
    slot: fc.nat(SLOTS - 1),
    length: fc.nat(CONTEXT + KV_BLOCK_SIZE),
    grows: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new KvCache({ blocks: BLOCKS, slots: SLOTS, context: CONTEXT });
      const lengths = new Array<number>(SLOTS).fill(0);
      for (const { slot, length, grows } of steps) {
        if (grows && cache.reserve(slot, length)) lengths[slot] = Math.max(lengths[slot] as number, length);
        if (!grows) {
          cache.truncate(slot, length);
          lengths[slot] = Math.min(lengths[slot] as number, length);
        }
        checkOwners(cache, lengths);
      }
    }),
  );
});

function checkOwners(cache: KvCache, lengths: readonly number[]): void {
  const owned = lengths.flatMap((length, slot) => {
    assert.ok(cache.reserved(slot) >= length);
    const row = new Int32Array(CONTEXT / KV_BLOCK_SIZE).fill(-1);
    cache.writeBlocks(slot, row);
    return [...row].filter((block) => block >= 0);
  });
  assert.equal(new Set(owned).size, owned.length);
  assert.ok(owned.every((block) => block < BLOCKS));
  assert.equal(owned.length + cache.freeBlocks(), BLOCKS);
}

test('a refused reservation changes nothing', () => {
  const cache = new KvCache({ blocks: 3, slots: 2, context: CONTEXT });
  assert.ok(cache.reserve(0, 2 * KV_BLOCK_SIZE));
  assert.equal(cache.reserve(1, 2 * KV_BLOCK_SIZE), false);
  assert.equal(cache.reserve(0, CONTEXT + 1), false);
  assert.equal(cache.freeBlocks(), 1);
  assert.equal(cache.reserved(1), 0);
});

test('a single sequence lies in one piece', () => {
  const cache = new KvCache({ blocks: 6, slots: 1, context: CONTEXT });
  const row = new Int32Array(6);
  cache.reserve(0, CONTEXT);
  cache.writeBlocks(0, row);
  assert.deepEqual([...row], [0, 1, 2, 3, 4, 5]);
  assert.equal(blocksFor(CONTEXT), 6);
});

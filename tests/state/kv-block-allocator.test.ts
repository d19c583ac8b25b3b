import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KvBlockAllocator } from '../../src/state/kv-block-allocator.ts';
import { blocksFor, KV_BLOCK_SIZE } from '../../src/model/layer-states.ts';

const SLOTS = 4;
const BLOCKS = 10;
const CONTEXT = 6 * KV_BLOCK_SIZE;

test('no block is lost or has two owners unless it was shared, whatever is reserved, shared and truncated', () => {
  const step = fc.record({
    slot: fc.nat(SLOTS - 1),
    length: fc.nat(CONTEXT + KV_BLOCK_SIZE),
    does: fc.constantFrom('grow', 'shrink', 'share'),
    to: fc.nat(SLOTS - 1),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new KvBlockAllocator({ blocks: BLOCKS, slots: SLOTS, context: CONTEXT });
      const model = new Model(cache);
      for (const { slot, length, does, to } of steps) {
        if (does === 'grow') model.grow(slot, length);
        else if (does === 'shrink') model.shrink(slot, length);
        else if (slot !== to) model.share(slot, to, length);
        model.check();
      }
    }),
  );
});

/** What slots hold: for each position, the one who wrote it and when. */
class Model {
  readonly #held = Array.from({ length: SLOTS }, (): number[] => []);
  readonly #cells = new Map<number, number>();
  #writes = 0;

  constructor(readonly cache: KvBlockAllocator) {}

  grow(slot: number, length: number): void {
    const held = this.#held[slot] as number[];
    if (!this.cache.reserve(slot, length)) return;
    while (held.length < length) {
      this.#cells.set(this.#cell(slot, held.length), ++this.#writes);
      held.push(this.#writes);
    }
  }

  shrink(slot: number, length: number): void {
    const held = this.#held[slot] as number[];
    const kept = this.cache.truncate(slot, length);
    assert.ok(kept <= length && kept > length - KV_BLOCK_SIZE);
    held.length = Math.min(held.length, kept);
  }

  share(from: number, to: number, length: number): void {
    const held = this.#held[from] as number[];
    const whole = Math.min(length, held.length);
    const shared = whole - (whole % this.cache.prefixUnit);
    this.shrink(to, 0);
    this.cache.sharePrefix(from, to, shared);
    this.#held[to] = held.slice(0, shared);
  }

  check(): void {
    const used = new Set<number>();
    for (const [slot, held] of this.#held.entries()) {
      assert.ok(this.cache.reserved(slot) >= held.length);
      for (const block of this.#blocks(slot)) used.add(block);
      for (const [position, written] of held.entries()) {
        assert.equal(this.#cells.get(this.#cell(slot, position)), written, 'nobody else has written there');
      }
    }
    assert.equal(used.size + this.cache.freeBlocks(), BLOCKS);
  }

  #blocks(slot: number): number[] {
    const row = new Int32Array(CONTEXT / KV_BLOCK_SIZE).fill(-1);
    this.cache.writeBlocks(slot, row);
    return [...row].filter((block) => block >= 0);
  }

  #cell(slot: number, position: number): number {
    return (
      (this.#blocks(slot)[Math.floor(position / KV_BLOCK_SIZE)] as number) * KV_BLOCK_SIZE +
      (position % KV_BLOCK_SIZE)
    );
  }
}

test('a refused reservation changes nothing', () => {
  const cache = new KvBlockAllocator({ blocks: 3, slots: 2, context: CONTEXT });
  assert.ok(cache.reserve(0, 2 * KV_BLOCK_SIZE));
  assert.equal(cache.reserve(1, 2 * KV_BLOCK_SIZE), false);
  assert.equal(cache.reserve(0, CONTEXT + 1), false);
  assert.equal(cache.freeBlocks(), 1);
  assert.equal(cache.reserved(1), 0);
});

test('a single sequence lies in one piece', () => {
  const cache = new KvBlockAllocator({ blocks: 6, slots: 1, context: CONTEXT });
  const row = new Int32Array(6);
  cache.reserve(0, CONTEXT);
  cache.writeBlocks(0, row);
  assert.deepEqual([...row], [0, 1, 2, 3, 4, 5]);
  assert.equal(blocksFor(CONTEXT), 6);
});

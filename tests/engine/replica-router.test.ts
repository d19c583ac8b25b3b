import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplicaRouter } from '../../src/engine/remote/replica-router.ts';
import { KV_BLOCK_SIZE } from '../../src/model/state-groups.ts';
import { type BlockEvent, HeldBlocks } from '../../src/state/held-blocks.ts';

const text = (seed: number, blocks: number) =>
  Array.from({ length: blocks * KV_BLOCK_SIZE }, (_, at) => (seed * 1000 + at) % 50_000);

/** What an engine with one slot tells when it has computed a text. */
async function eventsOf(ids: readonly number[], lineage?: string): Promise<BlockEvent[]> {
  const told: BlockEvent[] = [];
  new HeldBlocks(1, (events) => told.push(...events)).hold({ slot: 0, ids, length: ids.length, lineage });
  await Promise.resolve();
  return told;
}

test('a text goes where most of its beginning is cached', async () => {
  const router = new ReplicaRouter(3);
  const [one, other] = [text(1, 4), text(2, 4)];
  router.learn(1, await eventsOf(one));
  router.learn(2, await eventsOf([...one, ...other]));
  router.learn(0, await eventsOf(other));
  assert.equal(router.choose({ ids: [...one, ...other, 7] }), 2);
  assert.equal(router.choose({ ids: [...other, 7] }), 0);
  // As far as both have it, the one that waited longer.
  assert.equal(router.choose({ ids: [...one, 7] }), 1);
  assert.equal(router.choose({ ids: [...one, 7] }), 2);
});

test('a prefix counts for its own adapters and salt only', async () => {
  const router = new ReplicaRouter(2);
  const ids = text(1, 4);
  router.learn(1, await eventsOf(ids, '[[],"mine"]'));
  for (let turn = 0; turn < 3; turn++) assert.equal(router.choose({ ids, lineage: '[[],"mine"]' }), 1);
  const chosen = [0, 1].map(() => router.choose({ ids }));
  assert.deepEqual(new Set(chosen), new Set([0, 1]));
});

test('a busy engine gives way when waiting for it would cost more than computing again', async () => {
  const router = new ReplicaRouter(2);
  const ids = text(1, 4);
  router.learn(0, await eventsOf(ids));
  const ends = [router.count(0, 2 * KV_BLOCK_SIZE)];
  assert.equal(router.choose({ ids }), 0);
  ends.push(router.count(0, 3 * KV_BLOCK_SIZE));
  assert.equal(router.choose({ ids }), 1);
  // Told twice, it counts once.
  ends[1]?.();
  ends[1]?.();
  assert.equal(router.choose({ ids }), 0);
});

test('texts without a common beginning are dealt evenly', () => {
  const router = new ReplicaRouter(3);
  const counts = [0, 0, 0];
  for (let at = 0; at < 30; at++) {
    const chosen = router.choose({ ids: text(at, 1) }) as number;
    counts[chosen] = (counts[chosen] as number) + 1;
    router.count(chosen, KV_BLOCK_SIZE);
  }
  assert.deepEqual(counts, [10, 10, 10]);
});

test('what an engine no longer holds is forgotten, and one that is gone gets nothing', async () => {
  const router = new ReplicaRouter(2);
  const ids = text(1, 4);
  const [stored] = await eventsOf(ids);
  assert.ok(stored?.kind === 'stored');
  router.learn(1, [stored]);
  router.count(1, KV_BLOCK_SIZE);
  assert.equal(router.choose({ ids }), 1);
  router.learn(1, [{ kind: 'removed', hashes: stored.hashes.slice(1) }]);
  assert.equal(router.choose({ ids }), 0, 'one block is not worth the wait');
  router.learn(1, [stored]);
  router.learn(1, [{ kind: 'cleared' }]);
  assert.equal(router.choose({ ids }), 0);
  router.learn(1, [stored]);
  router.leave(1);
  assert.equal(router.choose({ ids }), 0);
  router.leave(0);
  assert.equal(router.choose({ ids }), undefined);
  router.join(1);
  assert.equal(router.choose({ ids }), 1);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockHash, lineageHash } from '../../src/state/block-hash.ts';
import { type BlockEvent, HeldBlocks } from '../../src/state/held-blocks.ts';
import { PagedGroup } from '../../src/state/paged-group.ts';
import { SequenceState } from '../../src/state/sequence-state.ts';
import { SlotPool } from '../../src/state/slot-pool.ts';
import { seededRandom } from '../support/random.ts';

const count = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);
const settled = () => new Promise(setImmediate);

function poolOf(blocks: number, slots: number) {
  const told: BlockEvent[] = [];
  const held = new HeldBlocks(slots, (events) => told.push(...events));
  const state = new SequenceState([new PagedGroup({ blocks, slots, context: 320 })], 320);
  return { pool: new SlotPool(state, slots, held), held, told };
}

/** The lineages and beginnings, in whole blocks, of what four slots hold. */
function heldTexts(pool: SlotPool): Set<string> {
  const texts = new Set<string>();
  for (const slot of count(4)) {
    const of = pool.idle(slot);
    for (let end = 32; of && end <= of.length; end += 32) texts.add(`${of.lineage} ${of.ids.slice(0, end)}`);
  }
  return texts;
}

test('hashes are FNV-1a of 64 bits', () => {
  assert.equal(lineageHash(''), 0xcbf29ce484222325n);
  assert.equal(lineageHash('a'), 0xaf63dc4c8601ec8cn);
  assert.equal(lineageHash('foobar'), 0x85944171f73967e8n);
  assert.equal(blockHash(undefined, [0x6f6f66, 0x7261622f]), lineageHash('foo\0/bar'));
  assert.equal(blockHash(0x6162636465666768n, [0x6c6b6a69]), lineageHash('abcdefghijkl'));
});

test('whole blocks are told when they come to be held, and when nobody holds them any longer', async () => {
  const { pool, told, held } = poolOf(10, 2);
  const taken = pool.take(count(100));
  assert.ok(pool.reserve(0, 0, 100));
  pool.give(0, count(100));
  assert.equal(taken?.slot, 0);
  await settled();
  const a = blockHash(undefined, count(32));
  const b = blockHash(a, count(32, 32));
  const c = blockHash(b, count(32, 64));
  const stored = { kind: 'stored', hashes: [a, b, c], parent: undefined, ids: count(96), lineage: undefined };
  assert.deepEqual(told.splice(0), [stored]);
  // The second text shares two blocks, and continues otherwise.
  const other = [...count(64), ...count(60, 500)];
  assert.deepEqual(pool.take(other), { slot: 1, held: 64 });
  pool.give(1, other.slice(0, 64));
  await settled();
  assert.deepEqual(told.splice(0), [], 'they are held already');
  pool.erase(0);
  await settled();
  assert.deepEqual(told.splice(0), [{ kind: 'removed', hashes: [c] }]);
  pool.erase(1);
  await settled();
  assert.deepEqual(told.splice(0), [{ kind: 'removed', hashes: [b, a] }]);
  held.clear();
  assert.deepEqual(told, [{ kind: 'cleared' }]);
});

test('texts of another lineage have other hashes', async () => {
  const { pool, told } = poolOf(10, 1);
  pool.take(count(40));
  pool.reserve(0, 0, 40);
  pool.give(0, count(40), 'salt');
  await settled();
  const [event] = told;
  assert.ok(event?.kind === 'stored');
  assert.deepEqual(event.hashes, [blockHash(lineageHash('salt'), count(32))]);
  assert.deepEqual([event.parent, event.lineage], [undefined, 'salt']);
});

test('whoever follows the events knows what can be reused', async () => {
  const random = seededRandom(7);
  const { pool, told } = poolOf(10, 4);
  let refused = 0;
  const known = new Map<bigint, number[]>();
  const running = new Map<number, { ids: number[]; lineage: string | undefined }>();
  const follow = () => {
    for (const event of told.splice(0)) {
      if (event.kind === 'cleared') known.clear();
      else if (event.kind === 'removed') for (const hash of event.hashes) assert.ok(known.delete(hash));
      else {
        assert.equal(event.ids.length, 32 * event.hashes.length);
        for (const [index, hash] of event.hashes.entries()) {
          assert.ok(!known.has(hash));
          const before = known.get(event.hashes[index - 1] ?? event.parent ?? 0n) ?? [];
          known.set(hash, [...before, ...event.ids.slice(32 * index, 32 * index + 32)]);
        }
      }
    }
  };
  for (let turn = 0; turn < 300; turn++) {
    const lineage = random() < 0.2 ? 'other' : undefined;
    const ids = [...count(32 * Math.floor(random() * 4)), ...count(40, 1000 * Math.floor(random() * 3))];
    const used = Array.from(running, ([slot, of]) => ({ slot, ...of, length: of.ids.length }));
    const taken = running.size < 3 ? pool.take(ids, used, lineage) : undefined;
    if (taken && pool.reserve(taken.slot, taken.held, ids.length)) running.set(taken.slot, { ids, lineage });
    else {
      if (taken) {
        refused++;
        pool.give(taken.slot, ids.slice(0, taken.held), lineage);
      }
      const [slot, of] = [...running][Math.floor(random() * running.size)] ?? [];
      if (slot !== undefined && of) {
        pool.give(slot, of.ids, of.lineage);
        running.delete(slot);
      }
    }
    await settled();
    follow();
    const expected = heldTexts(pool);
    const texts = new Set(Array.from(known.values(), String));
    for (const text of expected) assert.ok(texts.has(text.slice(text.indexOf(' ') + 1)), text);
  }
  assert.ok(refused > 0, 'blocks run out');
  // Texts in use are told when others look for their prefixes: of none, all is known.
  for (const [slot, of] of running) pool.give(slot, of.ids, of.lineage);
  await settled();
  follow();
  assert.equal(known.size, heldTexts(pool).size);
});

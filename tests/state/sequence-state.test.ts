import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksFor, groupsWithin, KV_BLOCK_SIZE, type SizedGroup } from '../../src/model/state-groups.ts';
import { PagedGroup } from '../../src/state/paged-group.ts';
import type { SequenceState } from '../../src/state/sequence-state.ts';
import { stateOf } from '../../src/state/state-of.ts';
import { windowBlocks, WindowedGroup } from '../../src/state/windowed-group.ts';
import { StateMemory } from '../support/state-memory.ts';
import fc from '../support/fast-check.ts';

const SLOTS = 4;
const BLOCKS = 16;
const CONTEXT = 6 * KV_BLOCK_SIZE;
const ROWS = 40;
const DRAFTS = 5;

const windowed = (window: number): SizedGroup => {
  const use = { slots: SLOTS, context: CONTEXT, window, rows: ROWS, drafts: DRAFTS };
  return { kind: 'windowed', window, blocks: windowBlocks(use) };
};
const paged: SizedGroup = { kind: 'paged', blocks: BLOCKS };
const perSlot: SizedGroup = { kind: 'slots', blocks: 0 };

/** Every kind, alone and with others. */
const STATES: Readonly<Record<string, readonly SizedGroup[]>> = {
  paged: [paged],
  windowed: [windowed(50)],
  'a window of one position': [windowed(1)],
  'paged and windowed': [paged, windowed(33)],
  'two windows': [windowed(8), windowed(70)],
  'per slot': [perSlot],
  'paged and per slot': [paged, perSlot],
  'all of them': [paged, windowed(20), windowed(100), perSlot],
};

const action = fc.record({
  slot: fc.nat(SLOTS - 1),
  does: fc.constantFrom('step', 'step', 'step', 'forget', 'share', 'lose'),
  rows: fc.integer({ min: 1, max: ROWS - DRAFTS }),
  drafts: fc.nat(DRAFTS),
  accepted: fc.nat(DRAFTS),
  length: fc.nat(CONTEXT),
  to: fc.nat(SLOTS - 1),
});

for (const [name, groups] of Object.entries(STATES)) {
  test(`a sequence finds what it wrote, whatever is shared, taken back and forgotten: ${name}`, () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const model = new Model(groups);
        for (const { slot, does, to, length, ...rows } of actions) {
          if (does === 'step') model.step(slot, rows);
          else if (does === 'forget') model.forget(slot, length);
          else if (does === 'lose') model.lose();
          else if (slot !== to) model.share(slot, to, length);
        }
      }),
      { numRuns: 1000 },
    );
  });
}

/** Slots of sequences, each row of which is a number of its own. */
class Model {
  readonly #state: SequenceState;
  readonly #memory: StateMemory;
  readonly #histories = Array.from({ length: SLOTS }, (): number[] => []);
  #written = 0;

  constructor(readonly groups: readonly SizedGroup[]) {
    this.#state = stateOf({ groups, slots: SLOTS, context: CONTEXT, checkpoints: true });
    this.#memory = new StateMemory(this.#state, groups, SLOTS);
  }

  /** Computes rows, the last of them drafts, of which some are taken back; does nothing where there is no room. */
  step(slot: number, { rows, drafts, accepted }: { rows: number; drafts: number; accepted: number }): void {
    const history = this.#historyOf(slot);
    const first = history.length;
    const [settled, end] = [first + rows, first + rows + drafts];
    if (!this.#state.reserve(slot, first, end)) {
      const isShort = end > CONTEXT || this.groups.some(({ kind }) => kind === 'paged');
      assert.ok(isShort, 'windows of all slots have room');
      return;
    }
    this.#state.advance(slot, first, end, settled);
    this.#memory.copy();
    while (history.length < end) history.push(++this.#written);
    this.#memory.compute(slot, first, history);
    if (drafts === 0) return;
    const wanted = settled + Math.min(accepted, drafts);
    history.length = this.#state.resumable(slot, wanted);
    const isExact = this.groups.every(({ kind }) => kind !== 'slots') || wanted === end;
    assert.ok(isExact ? history.length === wanted : history.length <= wanted);
    assert.ok(history.length >= first || first === 0 || history.length === first);
  }

  forget(slot: number, length: number): void {
    const history = this.#historyOf(slot);
    const kept = this.#state.truncate(slot, Math.min(length, history.length));
    assert.ok(kept <= length);
    history.length = kept;
  }

  share(from: number, to: number, length: number): void {
    const history = this.#historyOf(from);
    const shared = this.#state.shareable(from, Math.min(length, history.length));
    assert.ok(shared <= length && (shared === 0 || shared % this.#state.prefixUnit === 0));
    if (shared === 0) return;
    this.forget(to, 0);
    this.#state.sharePrefix(from, to, shared);
    this.#histories[to] = history.slice(0, shared);
  }

  /** The device is lost, and what sequences had is computed again. */
  lose(): void {
    this.#memory.lose();
    this.#state.moveToNewDevice();
    for (const [slot, history] of this.#histories.entries()) {
      for (let first = 0; first < history.length; first += ROWS) {
        const end = Math.min(history.length, first + ROWS);
        assert.ok(this.#state.reserve(slot, first, end), 'what was there has room to come back');
        this.#state.advance(slot, first, end);
        this.#memory.copy();
        this.#memory.compute(slot, first, history.slice(0, end));
      }
    }
  }

  #historyOf(slot: number): number[] {
    return this.#histories[slot] as number[];
  }
}

test('a refused reservation of a paged group changes nothing', () => {
  const group = new PagedGroup({ blocks: 3, slots: 2, context: CONTEXT });
  assert.ok(group.reserve(0, 0, 2 * KV_BLOCK_SIZE));
  assert.equal(group.reserve(1, 0, 2 * KV_BLOCK_SIZE), false);
  assert.equal(group.reserve(0, 0, CONTEXT + 1), false);
  assert.equal(group.freeBlocks, 1);
  assert.ok(group.reserve(1, 0, KV_BLOCK_SIZE));
});

test('a single sequence lies in one piece', () => {
  const group = new PagedGroup({ blocks: 6, slots: 1, context: CONTEXT });
  group.reserve(0, 0, CONTEXT);
  assert.deepEqual([...group.table.words], [0, 1, 2, 3, 4, 5]);
  assert.equal(blocksFor(CONTEXT), 6);
});

test('a window of a long text takes the blocks of its window, however long the text is', () => {
  const [window, context, rows] = [64, 100_000, 32];
  const blocks = windowBlocks({ slots: 1, context, window, rows, drafts: 0 });
  assert.ok(blocks <= 6);
  const group = new WindowedGroup({ blocks, slots: 1, context, window });
  for (let first = 0; first < context; first += rows) {
    assert.ok(group.reserve(0, first, first + rows));
    group.advance(0, first, first + rows, first + rows);
  }
  assert.equal(group.resumable(0, context), context);
  assert.equal(group.resumable(0, context / 2), 0, 'its blocks are others now');
});

test('a window as wide as the context is none', () => {
  const groups = [{ kind: 'paged' }, { kind: 'windowed', window: 512 }] as const;
  assert.deepEqual(groupsWithin(groups, 512), [{ kind: 'paged' }]);
  assert.deepEqual(groupsWithin([groups[1]], 100), [{ kind: 'paged' }]);
  assert.deepEqual(groupsWithin(groups, 513), groups);
});

test('values that slots have once are shared by nobody, and go back to their checkpoint alone', () => {
  const state = stateOf({ groups: [paged, perSlot], slots: 2, context: CONTEXT, checkpoints: true });
  assert.ok(state.reserve(0, 0, 64));
  state.advance(0, 0, 64);
  assert.equal(state.shareable(0, 64), 0);
  assert.equal(state.resumable(0, 63), 0);
  assert.ok(state.reserve(0, 64, 70));
  state.advance(0, 64, 70, 66);
  assert.deepEqual(state.takeCopies(), [{ slot: 0, does: 'save' }]);
  assert.equal(state.resumable(0, 67), 64);
  assert.equal(state.truncate(0, 69), 64);
  state.advance(0, 64, 65);
  assert.deepEqual(state.takeCopies(), [{ slot: 0, does: 'restore' }]);
  assert.equal(stateOf({ groups: [perSlot], slots: 1, context: 9, checkpoints: false }).rollsBack, false);
});

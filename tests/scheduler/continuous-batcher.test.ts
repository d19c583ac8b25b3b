import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Batchable,
  type BatchRules,
  ContinuousBatcher,
  SequencePlace,
  type ScheduledStep,
} from '../../src/scheduler/continuous-batcher.ts';
import type { SchedulingClass } from '../../src/scheduler/fair-shares.ts';
import { SlotPool } from '../../src/state/slot-pool.ts';
import { PagedGroup } from '../../src/state/paged-group.ts';
import type { SequenceState } from '../../src/state/sequence-state.ts';
import { stateOf } from '../../src/state/state-of.ts';
import { windowBlocks } from '../../src/state/windowed-group.ts';
import { StateMemory } from '../support/state-memory.ts';
import { KV_BLOCK_SIZE, type SizedGroup, type StateGroup } from '../../src/model/state-groups.ts';
import { runsOf } from '../support/property-runs.ts';
import fc from '../support/fast-check.ts';

const CONTEXT = 256;

/** A sequence whose n-th id depends on its name and n alone, as with a model that is asked twice the same. */
class Fake implements Batchable {
  readonly ids: number[];
  readonly place = new SequencePlace();
  paused = false;
  /** A constrained sequence: what follows an id is known some turns after it. */
  constrained = false;
  hostTurns = 0;
  /** Draft ids are proposed for it, some of them wrong. */
  speculates = false;
  scheduling: SchedulingClass | undefined;
  draftIds: readonly number[] = [];

  constructor(
    readonly name: number,
    promptLength: number,
    readonly limit: number,
    /** Positions at which it has the ids of all others. */
    readonly common = 0,
  ) {
    this.ids = Array.from({ length: promptLength }, (_, i) => this.idAt(i));
  }

  get awaitsHost(): boolean {
    const isPending = this.place.pending > 0;
    return (this.speculates && isPending) || (this.constrained && (isPending || this.hostTurns > 0));
  }

  /** Proposes again: every third id wrong. */
  propose(): void {
    if (!this.speculates) return;
    this.draftIds = Array.from({ length: DRAFTS }, (_, i) => i)
      .map((i) => this.ids.length + i)
      .map((position) => (position % 3 === 0 ? -7 : this.idAt(position)));
  }

  idAt(position: number): number {
    return (position < this.common ? 0 : this.name * 1000) + position;
  }
}

/** What a cache cell holds, and the capacity of the plan that computed it. */
interface Cell {
  readonly id: number;
  readonly capacity: number;
}

/** What sequences leave behind: each kind of group alone and with others. */
const STATES = {
  paged: [{ kind: 'paged' }],
  'paged and windowed': [{ kind: 'paged' }, { kind: 'windowed', window: 40 }],
  windowed: [{ kind: 'windowed', window: 70 }],
  'per slot': [{ kind: 'slots' }],
  'paged and per slot': [{ kind: 'paged' }, { kind: 'slots' }],
} as const satisfies Readonly<Record<string, readonly StateGroup[]>>;

/** Draft ids that are proposed at once. */
const DRAFTS = 4;

/**
 * A device that checks what it is given: every row's predecessors are in the slot's memory, every id is known by then, and
 * what was lost comes back from plans of the same capacity.
 */
class Model {
  readonly state: SequenceState;
  readonly batcher: ContinuousBatcher<Fake>;
  readonly underWay: ScheduledStep<Fake>[] = [];
  readonly #memory: StateMemory;
  readonly #cells = new Map<number, Cell>();
  /** What is to come back, by cache cell. */
  readonly #lost = new Map<number, Cell>();
  #sampled: number[] = [];
  readonly #blocks: number;
  readonly #isPaged: boolean;

  constructor(
    readonly limits: { rows: number; outputs: number; slots: number },
    blocks: number,
    { rules, groups = STATES.paged }: { rules?: BatchRules; groups?: readonly StateGroup[] } = {},
  ) {
    const { rows, slots } = limits;
    const use = { slots, rows, context: CONTEXT, drafts: DRAFTS };
    const sized = groups.map((group): SizedGroup => {
      const window = group.kind === 'windowed' ? windowBlocks({ ...use, window: group.window }) : 0;
      return { ...group, blocks: group.kind === 'paged' ? blocks : window };
    });
    this.#blocks = blocks;
    this.#isPaged = sized[0]?.kind === 'paged';
    this.state = stateOf({ groups: sized, slots, context: CONTEXT, checkpoints: true });
    this.#memory = new StateMemory(this.state, sized, slots);
    const capacities = [1, 8, rows].filter((capacity, i) => capacity < rows || i === 2);
    this.batcher = new ContinuousBatcher({ ...limits, capacities }, new SlotPool(this.state, slots), rules);
  }

  submit(): boolean {
    const step = this.batcher.next();
    if (!step) return false;
    assert.ok(step.rows > 0 && step.rows <= step.capacity && step.capacity <= this.limits.rows);
    assert.ok(step.outputs <= this.limits.outputs);
    assert.equal(
      step.rows,
      step.slices.reduce((sum, { count }) => sum + count, 0),
    );
    assert.equal(new Set(step.slices.map(({ slot }) => slot)).size, step.slices.length);
    this.#checkOwners();
    this.#memory.copy();
    const sampled: number[] = [];
    for (const { sequence, slot, first, count, output, outputs, sampled: from } of step.slices) {
      const history = Array.from({ length: first }, (_, position) => sequence.idAt(position));
      assert.ok(
        !sequence.constrained || first + count <= sequence.ids.length,
        'the host knows what may follow',
      );
      const known = sequence.ids.length;
      for (let position = first; position < first + count; position++) {
        const isDraft = position >= known && from < 0;
        const id = isDraft
          ? sequence.draftIds[position - known]
          : (sequence.ids[position] ?? this.#sampled[from]);
        if (!isDraft)
          assert.equal(
            id,
            sequence.idAt(position),
            'the id is known to the host, or sampled by the step before',
          );
        assert.ok(id !== undefined);
        history.push(id);
        if (this.#isPaged) this.#put(this.#cellOf(slot, position), { id, capacity: step.capacity });
      }
      this.#memory.compute(slot, first, history);
      for (let i = 0; i < outputs; i++) sampled[output + i] = sequence.idAt(first + count - outputs + 1 + i);
    }
    assert.equal(sampled.length, step.outputs);
    this.#sampled = sampled;
    this.underWay.push(step);
    return true;
  }

  /** Gives the sequences that it completed. */
  complete(): Fake[] {
    const complete: Fake[] = [];
    const step = this.underWay.shift();
    if (step) this.batcher.measured(step, 1 + step.rows / 8);
    for (const { sequence, output, outputs } of step?.slices ?? []) {
      if (output < 0) continue;
      sequence.place.pending--;
      if (sequence.ids.length >= sequence.limit) continue;
      for (let row = 0; row < outputs && sequence.ids.length < sequence.limit; row++) {
        const id = sequence.idAt(sequence.ids.length);
        sequence.ids.push(id);
        if (sequence.draftIds[row] !== id) break;
      }
      if (outputs > 1) this.batcher.rewind(sequence);
      sequence.propose();
      sequence.hostTurns = 2;
      if (sequence.ids.length < sequence.limit) continue;
      this.batcher.remove(sequence);
      complete.push(sequence);
    }
    return complete;
  }

  /** Loses everything on the device; nothing of the steps under way is read. */
  lose(sequences: readonly Fake[]): void {
    for (const { name, place } of sequences.filter(({ place: { slot } }) => this.#isPaged && slot >= 0)) {
      for (let position = 0; position < place.computed; position++) {
        const cell = this.#cellOf(place.slot, position);
        const of = this.#cells.get(cell);
        // What all begin with is computed by the first of them.
        if (of && Math.floor(of.id / 1000) === name && !this.#lost.has(cell)) this.#lost.set(cell, of);
      }
    }
    this.#cells.clear();
    this.#memory.lose();
    this.batcher.rollBack(this.underWay.splice(0));
    this.state.moveToNewDevice();
  }

  /** A sequence that left its slot comes back as a prompt. */
  forgive({ name }: Fake): void {
    for (const [cell, { id }] of this.#lost) if (Math.floor(id / 1000) === name) this.#lost.delete(cell);
  }

  /** Where a position of a slot stands in the first group. */
  #cellOf(slot: number, position: number): number {
    const block = this.state.tables[0]?.get(slot, Math.floor(position / KV_BLOCK_SIZE)) ?? Number.NaN;
    return block * KV_BLOCK_SIZE + (position % KV_BLOCK_SIZE);
  }

  #put(cell: number, of: Cell): void {
    const lost = this.#lost.get(cell);
    if (lost?.id === of.id) assert.equal(of.capacity, lost.capacity, 'it is computed as it was before');
    this.#lost.delete(cell);
    this.#cells.set(cell, of);
  }

  #checkOwners(): void {
    const [group] = this.state.groups;
    if (!(group instanceof PagedGroup)) return;
    const owned = new Set<number>();
    for (let slot = 0; slot < this.limits.slots; slot++) {
      for (let i = 0; i < group.blocksOf(slot); i++) owned.add(group.table.get(slot, i));
    }
    assert.equal(owned.size + group.freeBlocks, this.#blocks, 'every block is free or somebody’s');
  }
}

const sequences = fc.array(
  fc.record({
    prompt: fc.integer({ min: 1, max: 200 }),
    tokens: fc.integer({ min: 1, max: 40 }),
    /** Steps after which it arrives, is held up for a while, or is taken out. */
    arrives: fc.nat(30),
    pauses: fc.option(fc.nat(60)),
    leaves: fc.option(fc.nat(80)),
    constrained: fc.boolean(),
    speculates: fc.boolean(),
    common: fc.oneof(fc.constant(0), fc.nat(200)),
    scheduling: fc.option(
      fc.record({
        priority: fc.nat(1),
        tenant: fc.constantFrom('a', 'b'),
        request: fc.constantFrom('1', '2'),
      }),
      { nil: undefined },
    ),
  }),
  { minLength: 1, maxLength: 8 },
);

const setups = fc.record({
  rows: fc.integer({ min: 4, max: 64 }),
  slots: fc.integer({ min: 1, max: 4 }),
  extraBlocks: fc.nat(12),
  extraOutputs: fc.nat(8),
  inFlight: fc.integer({ min: 1, max: 3 }),
  rules: fc.record({
    chains: fc.boolean(),
    continuous: fc.boolean(),
    pace: fc.record({
      tokenMs: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
      promptMs: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    }),
  }),
  /** Turns in which the device is lost. */
  losses: fc.array(fc.nat(120), { maxLength: 4 }),
  sequences,
});

for (const [name, groups] of Object.entries(STATES)) {
  const claim =
    'every sequence ends with its own tokens, whatever the budgets, the order, the pauses and losses';
  test(`${claim} of the device: ${name}`, () => {
    checkSequences(groups, runsOf(name === 'paged' ? 5_000 : 1_000));
  });
}

function checkSequences(groups: readonly StateGroup[], numRuns: number): void {
  fc.assert(
    fc.property(
      setups,
      ({ rows, slots, extraBlocks, extraOutputs, inFlight, rules, losses, sequences: wanted }) => {
        const blocks = CONTEXT / KV_BLOCK_SIZE + extraBlocks;
        const outputs = Math.min(rows, slots + extraOutputs);
        const model = new Model({ rows, outputs, slots }, blocks, { rules, groups });
        const all = wanted.map(
          ({ prompt, tokens, common }, name) =>
            new Fake(name + 1, prompt, Math.min(prompt + tokens, CONTEXT + 1), common),
        );
        for (const [i, sequence] of all.entries()) {
          sequence.constrained = wanted[i]?.constrained ?? false;
          sequence.scheduling = wanted[i]?.scheduling;
          sequence.speculates = !sequence.constrained && (wanted[i]?.speculates ?? false);
        }
        const open = new Set(all);
        for (let turn = 0; open.size > 0; turn++) {
          assert.ok(turn < 5000, 'nobody starves');
          for (const [i, sequence] of all.entries()) {
            const { arrives, pauses, leaves } = wanted[i] as (typeof wanted)[number];
            sequence.hostTurns--;
            if (turn === arrives) model.batcher.add(sequence);
            if (pauses !== null) sequence.paused = turn >= pauses && turn < pauses + 20;
            if (leaves !== null && turn === leaves + arrives + 1 && open.delete(sequence))
              model.batcher.remove(sequence);
          }
          while (model.underWay.length < inFlight && model.submit()) {
            for (const sequence of all) if (sequence.place.slot < 0) model.forgive(sequence);
          }
          if (losses.includes(turn)) model.lose(all);
          for (const sequence of model.complete()) open.delete(sequence);
        }
        for (const [i, sequence] of all.entries()) {
          assert.deepEqual(
            sequence.ids,
            sequence.ids.map((_, position) => sequence.idAt(position)),
          );
          if (wanted[i]?.leaves === null) assert.equal(sequence.ids.length, sequence.limit);
        }
      },
    ),
    { numRuns },
  );
}

test('without chains no row takes an id that the host has not read; static batches let nobody join', () => {
  const rules = { chains: false, continuous: false };
  const model = new Model({ rows: 16, outputs: 4, slots: 4 }, 64, { rules });
  const [first, second] = [new Fake(1, 20, 23), new Fake(2, 3, 8)];
  model.batcher.add(first);
  model.submit();
  model.batcher.add(second);
  const counts: number[][] = [];
  while (model.submit() || model.underWay.length > 0) {
    counts.push(model.underWay.map(({ slices }) => slices.length));
    assert.ok(model.underWay.every(({ slices }) => slices.every(({ sampled }) => sampled < 0)));
    model.complete();
    if (first.ids.length === first.limit) break;
  }
  assert.deepEqual(counts, [[1, 2], [2], [2], [2]], 'the second came while the first was still being read');
  model.batcher.add(new Fake(3, 3, 5));
  model.submit();
  assert.deepEqual(
    model.underWay.map(({ slices }) => slices.map(({ sequence }) => sequence.name)),
    [[2]],
  );
});

test('a prompt is read in slices beside sequences that generate, each of which has its row in every step', () => {
  const model = new Model({ rows: 16, outputs: 4, slots: 4 }, 64);
  const generating = [new Fake(1, 3, 100), new Fake(2, 3, 100)];
  for (const sequence of generating) model.batcher.add(sequence);
  model.submit();
  model.complete();
  model.batcher.add(new Fake(3, 40, 50));
  const counts: number[][] = [];
  for (let i = 0; i < 4; i++) {
    model.submit();
    counts.push(model.underWay[0]?.slices.map(({ count }) => count) ?? []);
    model.complete();
  }
  assert.deepEqual(counts, [
    [1, 1, 14],
    [1, 1, 14],
    [1, 1, 12],
    [1, 1, 1],
  ]);
});

test('one request of many sequences leaves a slot, and rows, to another that comes', () => {
  const model = new Model({ rows: 16, outputs: 4, slots: 2 }, 64);
  const many = [1, 2, 3].map((name) => new Fake(name, 40, 200));
  for (const sequence of many) sequence.scheduling = { request: 'many' };
  const other = new Fake(4, 8, 12);
  other.scheduling = { request: 'other' };
  for (const sequence of many) model.batcher.add(sequence);
  for (let i = 0; i < 20; i++) {
    model.submit();
    model.complete();
  }
  model.batcher.add(other);
  let steps = 0;
  for (; other.ids.length < other.limit; steps++) {
    model.submit();
    model.complete();
  }
  assert.equal(steps, 4, 'it is read in the next step');
  const long = new Fake(5, 150, 160);
  const short = new Fake(6, 8, 9);
  for (const sequence of many) model.batcher.remove(sequence);
  long.scheduling = { request: 'long' };
  short.scheduling = { request: 'short' };
  model.batcher.add(long);
  model.submit();
  model.complete();
  model.batcher.add(short);
  model.submit();
  const counts = model.underWay[0]?.slices.map(({ count }) => count);
  assert.deepEqual(counts, [8, 8], 'a short prompt does not wait for a long one');
});

test('sequences that begin alike read their common beginning once', () => {
  const model = new Model({ rows: 64, outputs: 4, slots: 4 }, 64);
  const length = 5 * KV_BLOCK_SIZE + 7;
  const all = [1, 2, 3, 4].map((name) => new Fake(name, length, length + 3, length));
  for (const sequence of all) model.batcher.add(sequence);
  let rows = 0;
  while (model.submit()) {
    rows += model.underWay[0]?.rows ?? 0;
    model.complete();
  }
  // The last positions stand in a block of each sequence's own.
  assert.equal(rows, length + 3 * 7 + 4 * 2);
  assert.ok(all.every(({ ids, limit }) => ids.length === limit));
});

test('behind 128 answers nobody waits more than twice the fair time, and behind a batch hardly more than behind nobody', () => {
  const slots = 4;
  const tokens = 20;
  const stepsOf = (behind: readonly SchedulingClass[], others: number): number[] => {
    const model = new Model({ rows: 16, outputs: slots, slots }, 64);
    let name = 0;
    for (const scheduling of behind) {
      model.batcher.add(Object.assign(new Fake(++name, 8, 200), { scheduling }));
    }
    for (let i = 0; i < 12; i++) {
      model.submit();
      model.complete();
    }
    const asked = Array.from({ length: others }, (_, index) =>
      Object.assign(new Fake(++name, 8, 8 + tokens), { scheduling: { request: `other ${index}` } }),
    );
    for (const sequence of asked) model.batcher.add(sequence);
    const ended = asked.map(() => 0);
    for (let step = 1; ended.includes(0); step++) {
      model.submit();
      model.complete();
      for (const [index, sequence] of asked.entries()) {
        if (sequence.ids.length < sequence.limit || ended[index] !== 0) continue;
        ended[index] = step;
        model.batcher.remove(sequence);
      }
    }
    return ended;
  };
  const many = Array.from({ length: 128 }, () => ({ request: 'many' }));
  for (const others of [1, 3, 6]) {
    // With as many requests as there are slots, or fewer, each has a slot of its own.
    const fair = tokens * Math.max(1, (1 + others) / slots);
    const steps = stepsOf(many, others);
    assert.ok(Math.max(...steps) <= 2 * fair, `${steps.join()} steps, fair ${fair}`);
  }
  const batch = Array.from({ length: 64 }, () => ({ request: 'batch', priority: 2 ** 20 }));
  const background = Array.from({ length: 8 }, (_, i) => ({ request: `background ${i}`, priority: 2 ** 19 }));
  for (const others of [1, 4, 6]) {
    const alone = stepsOf([], others);
    const beside = stepsOf([...batch, ...background], others);
    // The step that preempts what holds a slot may have no row left for all of them.
    assert.ok(
      beside.every((steps, index) => steps <= (alone[index] ?? 0) + 1),
      `${beside.join()} steps, alone ${alone.join()}`,
    );
  }
});

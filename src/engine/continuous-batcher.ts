import { type HeldSlot, sharedPrefix, type SlotPool } from './slot-pool.ts';

/** What the batcher sees of a sequence; it keeps `place` up to date. */
export interface Batchable {
  /** The prompt and every sampled id that was read back. */
  readonly ids: readonly number[];
  /** Ids at which the sequence is complete. */
  readonly limit: number;
  /** True while its reader is behind: it takes part in no step. */
  readonly paused: boolean;
  /** True while the host has yet to say what may follow its last id: it takes part in no step until then. */
  readonly awaitsHost: boolean;
  readonly place: SequencePlace;
}

/** Where a sequence stands between the host and the device. */
export class SequencePlace {
  /** Its slot, or -1 while it waits. */
  slot = -1;
  /** Positions whose rows were planned since it has the slot, with those that the slot held. */
  computed = 0;
  /** Ids that planned steps sample and that were not read back. */
  pending = 0;
  /** The step that samples its latest pending id, and the output row of it. */
  sampledBy = -1;
  outputRow = -1;
}

/** Rows of one sequence in a step: positions `first .. first + count - 1`. */
export interface Slice<S> {
  readonly sequence: S;
  readonly slot: number;
  readonly first: number;
  readonly count: number;
  /** The last row's output row, or -1 when it samples nothing. */
  readonly output: number;
  /** The output row of the step before that holds the first row's id, or -1 when the host knows it. */
  readonly sampled: number;
}

/** What a step computes. */
export interface StepPlan<S> {
  readonly slices: readonly Slice<S>[];
  readonly rows: number;
  readonly outputs: number;
}

/** The capacities of a step. */
export interface BatchLimits {
  readonly rows: number;
  readonly outputs: number;
}

/** What a batcher may do. */
export interface BatchRules {
  /** A row may take its id from the step before, which is not read yet. */
  readonly chains: boolean;
  /** Sequences join while others generate; otherwise when all of those have ended. */
  readonly continuous: boolean;
}

/** Positions beyond its ids that a sequence is admitted with, so that it does not lose its place at once. */
const HEADROOM = 64;

/**
 * Decides which rows of which sequences the next step computes. Sequences that generate come first, a row each; prompts
 * fill the step up in slices; waiting sequences are admitted in order while slots and state memory last. When memory runs
 * short the youngest gives up its place and computes it again later. Plans without a device or a clock, and may plan
 * a step before the ids that the last one samples are known.
 */
export class ContinuousBatcher<S extends Batchable> {
  readonly #limits: BatchLimits;
  readonly #slots: SlotPool;
  readonly #rules: BatchRules;
  /** In the order of admission, which is the order of arrival but for those that gave up their place. */
  readonly #running: S[] = [];
  readonly #waiting: S[] = [];
  #steps = 0;

  constructor(limits: BatchLimits, slots: SlotPool, rules: BatchRules = { chains: true, continuous: true }) {
    this.#limits = limits;
    this.#slots = slots;
    this.#rules = rules;
  }

  get running(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(sequence: S): void {
    this.#waiting.push(sequence);
  }

  /** Takes a sequence out, complete or not. What it computed stays in its slot for the next with the same beginning. */
  remove(sequence: S): void {
    const waits = this.#waiting.indexOf(sequence);
    if (waits >= 0) this.#waiting.splice(waits, 1);
    const runs = this.#running.indexOf(sequence);
    if (runs >= 0) this.#leave(runs);
  }

  /** The next step, counted as submitted; undefined when no sequence can go on before something is read back or ends. */
  next(): StepPlan<S> | undefined {
    const draft = new Draft<S>(this.#limits, this.#steps);
    const isOpen = this.#isOpen;
    let decoding = 0;
    for (const sequence of this.#running) if (this.#rowsLeft(sequence) === 1) decoding++;
    for (let i = 0; i < this.#running.length; i++) {
      const sequence = this.#running[i] as S;
      const left = this.#rowsLeft(sequence);
      if (left === 0) continue;
      if (left === 1) decoding--;
      const count = Math.min(left, left === 1 ? draft.rowsLeft : draft.rowsLeft - decoding);
      if (count > 0 && draft.hasOutput && this.#makeRoom(i, sequence.place.computed + count)) {
        draft.add(sequence, count);
      }
    }
    while (isOpen && draft.rowsLeft > 0 && draft.hasOutput) {
      const admitted = this.#admit();
      if (!admitted) break;
      draft.add(admitted, Math.min(this.#rowsLeft(admitted), draft.rowsLeft));
    }
    if (draft.rows === 0) return undefined;
    this.#steps++;
    return draft;
  }

  /** True when sequences may join those that run. */
  get #isOpen(): boolean {
    return this.#rules.continuous || this.#running.every(({ place }) => place.sampledBy < 0);
  }

  /** Rows that the sequence could compute in the next step. */
  #rowsLeft({ ids, limit, paused, awaitsHost, place }: S): number {
    const total = ids.length + place.pending;
    if (paused || awaitsHost || total >= limit) return 0;
    // An id that only the device knows can be used by the step behind the one that samples it, no later.
    const isChained = place.computed >= ids.length;
    if (isChained && (!this.#rules.chains || place.sampledBy !== this.#steps - 1)) return 0;
    return total - place.computed;
  }

  /** Room for the positions of the running sequence at `index`, taken from younger ones if need be. */
  #makeRoom(index: number, length: number): boolean {
    const { slot } = (this.#running[index] as S).place;
    while (!this.#slots.reserve(slot, length)) {
      const youngest = this.#running.length - 1;
      const victim = this.#leave(youngest);
      this.#waiting.unshift(victim);
      if (youngest === index) return false;
    }
    return true;
  }

  #admit(): S | undefined {
    const index = this.#waiting.findIndex((waits) => this.#isAdmissible(waits));
    const sequence = this.#waiting[index];
    if (!sequence) return undefined;
    const taken = this.#take(sequence.ids);
    if (!taken) return undefined;
    const wanted = Math.min(sequence.limit - 1, sequence.ids.length + HEADROOM);
    if (!this.#slots.reserve(taken.slot, wanted)) {
      this.#slots.give(taken.slot, sequence.ids.slice(0, taken.held));
      return undefined;
    }
    this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
    this.#running.push(sequence);
    sequence.place.slot = taken.slot;
    sequence.place.computed = taken.held;
    return sequence;
  }

  #isAdmissible({ ids, paused, awaitsHost, place }: S): boolean {
    return !paused && !awaitsHost && place.pending === 0 && !this.#isBeingRead(ids);
  }

  /** True while another sequence reads a longer part of this very prompt, which can be lent when it is read. */
  #isBeingRead(ids: readonly number[]): boolean {
    return this.#running.some((other) => {
      const { computed } = other.place;
      if (other.paused || other.awaitsHost || computed >= other.ids.length) return false;
      return sharedPrefix(other.ids, ids) >= computed + this.#slots.lendable;
    });
  }

  /** A free slot, or that of a sequence whose reader is behind: it waits without one, so that it holds up nobody else. */
  #take(ids: readonly number[]): ReturnType<SlotPool['take']> {
    if (this.#slots.free === 0) {
      const index = this.#running.findIndex(({ paused, place }) => paused && place.pending === 0);
      if (index < 0) return undefined;
      this.#waiting.push(this.#leave(index));
    }
    return this.#slots.take(ids, this.#running.map(heldBy));
  }

  #leave(index: number): S {
    const [sequence] = this.#running.splice(index, 1) as [S];
    const { place, ids } = sequence;
    this.#slots.give(place.slot, ids.slice(0, place.computed), place.computed);
    place.slot = -1;
    place.computed = 0;
    return sequence;
  }
}

/** What a running sequence's slot holds when the steps planned so far have run. */
function heldBy({ ids, place }: Batchable): HeldSlot {
  return { slot: place.slot, ids, length: Math.min(place.computed, ids.length) };
}

/** A step while it is planned. */
class Draft<S extends Batchable> implements StepPlan<S> {
  readonly slices: Slice<S>[] = [];
  rows = 0;
  outputs = 0;
  readonly #limits: BatchLimits;
  readonly #step: number;

  constructor(limits: BatchLimits, step: number) {
    this.#limits = limits;
    this.#step = step;
  }

  get rowsLeft(): number {
    return this.#limits.rows - this.rows;
  }

  get hasOutput(): boolean {
    return this.outputs < this.#limits.outputs;
  }

  add(sequence: S, count: number): void {
    const { ids, place } = sequence;
    const first = place.computed;
    const ends = first + count === ids.length + place.pending;
    const sampled = first < ids.length ? -1 : place.outputRow;
    this.slices.push({ sequence, slot: place.slot, first, count, output: ends ? this.outputs : -1, sampled });
    this.rows += count;
    place.computed += count;
    if (!ends) return;
    place.pending++;
    place.sampledBy = this.#step;
    place.outputRow = this.outputs++;
  }
}

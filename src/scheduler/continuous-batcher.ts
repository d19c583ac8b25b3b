import { invariant } from '../base/errors.ts';
import { RowTrace } from '../state/row-trace.ts';
import { type CachedSlot, sharedPrefix, type SlotPool } from '../state/slot-pool.ts';
import { promptShares, type SchedulingClass, SlotShares } from './fair-shares.ts';
import { type PaceTargets, PromptPace } from './prompt-pace.ts';

/** What the batcher sees of a sequence; it keeps `place` up to date. */
export interface Batchable {
  /** The prompt and every sampled id that was read back. */
  readonly ids: readonly number[];
  /** Number of ids at which the sequence is complete. */
  readonly limit: number;
  /** True while its reader lags behind: the sequence is not scheduled. */
  readonly paused: boolean;
  /**
   * True while the host has yet to determine what may follow the last id (draft ids, a mask): not scheduled until then.
   */
  readonly awaitsHost: boolean;
  /** Draft ids that may follow those: computed with them, and dropped if they are wrong. */
  readonly draftIds: readonly number[];
  /** What its state depends on besides the ids: its adapters. Default none. */
  readonly lineage?: string | undefined;
  /** Its tenant, request and priority. */
  readonly scheduling?: SchedulingClass | undefined;
  readonly place: SequencePlace;
}

/** How far a sequence has been computed, from the scheduler's point of view. */
export class SequencePlace {
  /** Its slot, or -1 while it waits. */
  slot = -1;
  /** Positions whose rows have been planned since it got the slot, including those that the slot already held. */
  computed = 0;
  /** Ids that planned steps sample and that have not been read back. */
  pending = 0;
  /** The step that samples its latest pending id, and that id's output row. */
  sampledBy = -1;
  outputRow = -1;
  /** What had been computed when the device was lost; its positions from `computed` on are to be recomputed. */
  lost = new RowTrace();
}

/** Rows of one sequence in a step: positions `first .. first + count - 1`. */
export interface Slice<S> {
  readonly sequence: S;
  readonly slot: number;
  readonly first: number;
  readonly count: number;
  /** The output row of the first row that samples, or -1 when none does. */
  readonly output: number;
  /** How many of the last rows sample: one, and one for each draft id. */
  readonly outputs: number;
  /** The output row of the previous step that holds the first row's id, or -1 if the host knows the id. */
  readonly sampled: number;
}

/** What a step computes. */
export interface ScheduledStep<S> {
  readonly slices: readonly Slice<S>[];
  readonly rows: number;
  readonly outputs: number;
  /** The row capacity of the plan that computes it. */
  readonly capacity: number;
}

/** The row capacities of steps. */
export interface BatchLimits {
  readonly rows: number;
  readonly outputs: number;
  /** Row capacities of the available plans, ascending; the last is `rows`. */
  readonly capacities: readonly number[];
}

/** Options of a batcher. */
export interface BatchRules {
  /** A row may take its id from the previous step before that is read back. */
  readonly chains: boolean;
  /** Sequences join while others generate; otherwise, when all of them have ended. */
  readonly continuous: boolean;
  /** Time targets of steps with prompt rows. Default: prompts fill each step. */
  readonly pace?: PaceTargets | undefined;
}

/**
 * Most rows that are replayed beside new draft ids. More of them are replayed alone, after which the state has a
 * checkpoint at its newest position again.
 */
const MAX_REPLAYED = 8;

/** Positions beyond its ids that must be free when a sequence is admitted, so that it is not preempted right away. */
const HEADROOM = 64;

/**
 * Decides which rows of which sequences the next step computes. Generating sequences come first, with one row each;
 * slices of prompts fill the rest of the step, as far as the target time between tokens allows; waiting sequences are
 * admitted in a fair order while there are slots and state memory. When memory runs short, or one request holds slots
 * that others should have, the most recently admitted sequence is preempted and recomputed later. When the device's
 * memory is lost, all sequences recompute their state with plans of the same row capacities as before. Plans without a
 * device or a clock, and can plan a step before the ids that the previous one samples are known.
 */
export class ContinuousBatcher<S extends Batchable> {
  readonly #limits: BatchLimits;
  readonly #slots: SlotPool;
  readonly #rules: BatchRules;
  /** In order of admission: the order of arrival, except for preempted sequences. */
  readonly #running: S[] = [];
  readonly #waiting: S[] = [];
  /** Steps that were lost with the device. */
  readonly #lostSteps: ScheduledStep<S>[] = [];
  readonly #pace: PromptPace;
  #steps = 0;

  constructor(limits: BatchLimits, slots: SlotPool, rules: BatchRules = { chains: true, continuous: true }) {
    this.#limits = limits;
    this.#slots = slots;
    this.#rules = rules;
    this.#pace = new PromptPace(rules.pace ?? {}, limits.capacities);
  }

  get running(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Queues a sequence at the end, or at the front. */
  add(sequence: S, { first = false } = {}): void {
    if (first) this.#waiting.unshift(sequence);
    else this.#waiting.push(sequence);
  }

  /**
   * Removes a sequence, complete or not. Its slot keeps the computed state for the next sequence with the same prefix.
   */
  remove(sequence: S): void {
    const waits = this.#waiting.indexOf(sequence);
    if (waits >= 0) this.#waiting.splice(waits, 1);
    const runs = this.#running.indexOf(sequence);
    if (runs >= 0) this.#release(runs);
  }

  /** Makes room for the state of `count` ids behind a sequence's own. False if there is none. */
  reserveAhead({ ids, place }: Pick<Batchable, 'ids' | 'place'>, count: number): boolean {
    return place.slot >= 0 && this.#slots.reserve(place.slot, place.computed, ids.length + count);
  }

  /** Rewinds a sequence to its known ids, or further if its state can only be rolled back to a checkpoint. */
  rewind({ ids, place }: S): void {
    if (place.slot < 0 || place.computed < ids.length) return;
    place.computed = this.#slots.resumable(place.slot, ids.length - 1);
  }

  /**
   * Handles the loss of the device's memory: the results of steps in flight will not be read, so the sequences are
   * rolled back to before the first of these. Earlier positions are recomputed, then the lost steps are run again
   * unchanged. The contents of unused slots are forgotten.
   */
  rollBack(underWay: readonly ScheduledStep<S>[]): void {
    const wasReached = ({ sequence: { place }, first }: Slice<S>) => first >= place.lost.length;
    this.#lostSteps.unshift(...underWay.filter(({ slices }) => slices.some(wasReached)));
    for (const { place } of [...this.#running, ...this.#waiting]) {
      place.pending = 0;
      place.sampledBy = -1;
    }
    for (const { sequence, slot, first } of underWay.flatMap(({ slices }) => slices)) {
      const { place } = sequence;
      if (slot === place.slot) place.computed = Math.min(place.computed, first);
    }
    for (const { place } of this.#running) {
      // Lost again before everything was recomputed: it still has to be.
      if (place.computed >= place.lost.length)
        place.lost = this.#slots.trace(place.slot).slice(place.computed);
      place.computed = 0;
    }
    this.#slots.forget();
  }

  /**
   * The next step, counted as submitted; undefined if no sequence can continue before something is read back or ends.
   */
  next(): ScheduledStep<S> | undefined {
    const built = new StepBuilder<S>(this.#limits, this.#steps);
    const restored = this.#running.find(({ place }) => place.computed < place.lost.length);
    if (restored) this.#recompute(restored, built);
    while (built.rows === 0 && this.#lostSteps.length > 0) this.#replay(built);
    if (built.rows === 0) this.#schedule(built);
    if (built.rows === 0) return undefined;
    this.#steps++;
    for (const { slot, first, count, outputs } of built.slices) {
      const end = first + count;
      const settled = end - Math.max(0, outputs - 1);
      this.#slots.advance(slot, { first, end, settled }, built.capacity);
    }
    const { blocks } = this.#slots;
    if (blocks) for (const sequence of this.#running) blocks.hold(this.#cachedBy(sequence));
    return built;
  }

  /** Recomputes part of what was lost, with a plan of the same row capacity as before. */
  #recompute(sequence: S, built: StepBuilder<S>): void {
    const { lost, computed, slot } = sequence.place;
    const { count, capacity } = lost.from(computed);
    const rows = Math.min(count, capacity);
    this.#requireReserved(slot, computed, computed + rows);
    built.add(sequence, rows);
    built.capacity = capacity;
  }

  /** The first of the lost steps, without the sequences that have left since. */
  #replay(built: StepBuilder<S>): void {
    const step = this.#lostSteps.shift() as ScheduledStep<S>;
    for (const { sequence, slot, count, outputs } of step.slices) {
      const { ids, place } = sequence;
      const left = ids.length + place.pending - place.computed;
      if (slot !== place.slot || left <= 0) continue;
      const drafted = Math.max(0, outputs - 1);
      const known = Math.min(count - drafted, left);
      this.#requireReserved(slot, place.computed, place.computed + known + drafted);
      built.add(sequence, known, drafted);
    }
    built.capacity = step.capacity;
  }

  /** Rows that were lost with a device keep their blocks: no other sequence has taken them. */
  #requireReserved(slot: number, first: number, end: number): void {
    invariant(this.#slots.reserve(slot, first, end), 'rows that were lost have room to come back');
  }

  /** Records the time that a step took, measured from the end of the previous one. */
  measured({ rows, slices }: ScheduledStep<S>, ms: number): void {
    const generating = slices
      .filter(({ count, outputs }) => count === outputs)
      .reduce((sum, { count }) => sum + count, 0);
    this.#pace.measured({ rows, generating, ms });
  }

  #schedule(built: StepBuilder<S>): void {
    const isOpen = this.#isOpen;
    if (isOpen) this.#giveWay();
    let decoding = 0;
    for (const sequence of this.#running) if (this.#rowsLeft(sequence) === 1) decoding++;
    let prompts = this.#promptRows();
    const shares = this.#promptShares(prompts);
    for (let i = 0; i < this.#running.length; i++) {
      const sequence = this.#running[i] as S;
      const left = this.#rowsLeft(sequence);
      if (left === 0) continue;
      if (left === 1) decoding--;
      const most = Math.min(shares?.get(sequence) ?? prompts, prompts, built.rowsLeft - decoding);
      const count = Math.min(left, left === 1 ? built.rowsLeft : most);
      if (count > 0 && built.hasOutput && this.#reserveOrPreempt(i, count)) {
        const known = count === left && left <= MAX_REPLAYED ? left : 0;
        built.add(sequence, count, this.#draftRows(sequence, built, { known, others: decoding }));
        if (left > 1) prompts -= count;
      }
    }
    while (isOpen && Math.min(prompts, built.rowsLeft) > 0 && built.hasOutput) {
      const admitted = this.#admit();
      if (!admitted) break;
      const { slot, computed } = admitted.place;
      const count = Math.min(this.#rowsLeft(admitted), built.rowsLeft, prompts);
      this.#requireReserved(slot, computed, computed + count);
      built.add(admitted, count);
      prompts -= count;
    }
    built.capacity = this.#limits.capacities.find((capacity) => capacity >= built.rows) ?? this.#limits.rows;
  }

  /** Prompt rows that the next step may have. */
  #promptRows(): number {
    const generating = this.#running.filter(({ ids, place, paused }) => {
      return !paused && place.computed >= ids.length + place.pending - 1;
    });
    return Math.min(this.#pace.rowsBeside(generating.length), this.#limits.rows);
  }

  /**
   * How these are shared among several prompts. Undefined if there are none, or if the first has no scheduling class.
   */
  #promptShares(prompts: number): ReadonlyMap<S, number> | undefined {
    const reading = this.#running.filter((sequence) => this.#rowsLeft(sequence) > 1);
    if (!reading[0]?.scheduling) return undefined;
    const waits = this.#slots.free > 0 ? this.#waiting.find((of) => this.#isAdmissible(of)) : undefined;
    const left = reading.map((sequence) => this.#rowsLeft(sequence));
    const shares = promptShares(waits ? [...left, waits.ids.length] : left, prompts);
    return new Map(reading.map((sequence, index) => [sequence, shares[index] as number]));
  }

  /** Preempts sequences that hold slots which waiting ones are entitled to. */
  #giveWay(): void {
    while (this.#slots.free === 0 && this.#waiting.length > 0 && !this.#lagging) {
      const shares = new SlotShares(this.#running);
      const preempted = shares
        .order(this.#waiting)
        .map((waits) => ({ waits, by: shares.preemptedFor(waits) }))
        .find(({ waits, by }) => by && this.#isAdmissible(waits))?.by;
      if (!preempted) return;
      this.#waiting.unshift(this.#release(this.#running.indexOf(preempted)));
    }
  }

  /** A sequence whose reader lags behind, so that its slot can be reused. */
  get #lagging(): S | undefined {
    return this.#running.find(({ paused, place }) => paused && place.pending === 0);
  }

  /** True if sequences may join the running ones. */
  get #isOpen(): boolean {
    return this.#rules.continuous || this.#running.every(({ place }) => place.sampledBy < 0);
  }

  /**
   * How many rows of draft ids fit after the `known` ones of a sequence whose ids are all in the step, leaving a row for
   * each of `others`. A recurrent state that went back to its checkpoint has accepted rows to replay: the next drafts
   * follow them in the same step.
   */
  #draftRows(
    { ids, limit, draftIds, place }: S,
    built: StepBuilder<S>,
    { known, others }: { known: number; others: number },
  ): number {
    if (known === 0) return 0;
    const most = Math.min(built.rowsLeft - known, built.outputsLeft - 1) - others;
    const count = Math.min(draftIds.length, most, limit - ids.length - 1);
    return count > 0 && this.#slots.reserve(place.slot, place.computed, ids.length + count) ? count : 0;
  }

  /** Rows that the sequence could compute in the next step. */
  #rowsLeft({ ids, limit, paused, awaitsHost, place }: S): number {
    const total = ids.length + place.pending;
    if (paused || awaitsHost || total >= limit) return 0;
    // An id that only the device knows can be used by the step right after the one that samples it, and no later.
    const isChained = place.computed >= ids.length;
    if (isChained && (!this.#rules.chains || place.sampledBy !== this.#steps - 1)) return 0;
    return total - place.computed;
  }

  /** Reserves state for the next rows of the running sequence at `index`, preempting later-admitted ones if need be. */
  #reserveOrPreempt(index: number, count: number): boolean {
    const { slot, computed } = (this.#running[index] as S).place;
    while (!this.#slots.reserve(slot, computed, computed + count)) {
      const youngest = this.#running.length - 1;
      const victim = this.#release(youngest);
      this.#waiting.unshift(victim);
      if (youngest === index) return false;
    }
    return true;
  }

  #admit(): S | undefined {
    const ordered = new SlotShares(this.#running).order(this.#waiting);
    const sequence = ordered.find((waits) => this.#isAdmissible(waits));
    if (!sequence) return undefined;
    const taken = this.#takeSlot(sequence);
    if (!taken) return undefined;
    const wanted = Math.min(sequence.limit - 1, sequence.ids.length + HEADROOM);
    if (!this.#slots.admit(taken.slot, wanted)) {
      const { ids, lineage, scheduling } = sequence;
      this.#slots.give(taken.slot, ids.slice(0, taken.held), lineage, scheduling?.tenant);
      return undefined;
    }
    this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
    this.#running.push(sequence);
    sequence.place.slot = taken.slot;
    sequence.place.computed = taken.held;
    return sequence;
  }

  #isAdmissible(sequence: S): boolean {
    const { paused, awaitsHost, place, scheduling } = sequence;
    if (scheduling?.slot !== undefined && !this.#slots.idle(scheduling.slot)) return false;
    return !paused && !awaitsHost && place.pending === 0 && !this.#isPrefixUnderWay(sequence);
  }

  /** True while another sequence computes a longer prefix of this prompt, which can be shared once it is computed. */
  #isPrefixUnderWay({ ids, lineage }: S): boolean {
    return this.#running.some((other) => {
      if (other.lineage !== lineage) return false;
      const { length } = this.#cachedBy(other);
      if (other.paused || other.awaitsHost || length >= other.ids.length) return false;
      return sharedPrefix(other.ids, ids) >= length + this.#slots.prefixUnit;
    });
  }

  /**
   * A free slot, or one taken from a sequence whose reader lags behind, which then waits without a slot and blocks
   * nobody.
   */
  #takeSlot({ ids, lineage, scheduling }: S): ReturnType<SlotPool['take']> {
    if (this.#slots.free === 0) {
      const lagging = this.#lagging;
      if (!lagging) return undefined;
      this.#waiting.push(this.#release(this.#running.indexOf(lagging)));
    }
    return this.#slots.take(
      ids,
      this.#running.map((running) => this.#cachedBy(running)),
      lineage,
      scheduling?.slot,
    );
  }

  /** What a running sequence's slot holds once the steps planned so far have run. */
  #cachedBy({ ids, lineage, place: { slot, computed } }: S): CachedSlot {
    return { slot, ids, length: Math.min(computed, ids.length, this.#slots.trace(slot).length), lineage };
  }

  #release(index: number): S {
    const [sequence] = this.#running.splice(index, 1) as [S];
    const { place, ids, lineage, scheduling } = sequence;
    this.#slots.give(place.slot, ids.slice(0, place.computed), lineage, scheduling?.tenant);
    place.slot = -1;
    place.computed = 0;
    place.lost = new RowTrace();
    return sequence;
  }
}

/** A step under construction. */
class StepBuilder<S extends Batchable> implements ScheduledStep<S> {
  readonly slices: Slice<S>[] = [];
  rows = 0;
  outputs = 0;
  capacity = 0;
  readonly #limits: BatchLimits;
  readonly #step: number;

  constructor(limits: BatchLimits, step: number) {
    this.#limits = limits;
    this.#step = step;
  }

  get rowsLeft(): number {
    return this.#limits.rows - this.rows;
  }

  get outputsLeft(): number {
    return this.#limits.outputs - this.outputs;
  }

  get hasOutput(): boolean {
    return this.outputsLeft > 0;
  }

  /** Adds rows of known ids, or of one that the previous step samples, and of draft ids after the last. */
  add(sequence: S, known: number, drafted = 0): void {
    const { ids, place } = sequence;
    const first = place.computed;
    const ends = first + known === ids.length + place.pending;
    const sampled = first < ids.length ? -1 : place.outputRow;
    const count = known + (ends ? drafted : 0);
    const outputs = ends ? 1 + drafted : 0;
    const output = ends ? this.outputs : -1;
    this.slices.push({ sequence, slot: place.slot, first, count, output, outputs, sampled });
    this.rows += count;
    place.computed += count;
    if (!ends) return;
    place.pending++;
    place.sampledBy = this.#step;
    place.outputRow = output;
    this.outputs += outputs;
  }
}

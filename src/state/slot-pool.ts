import { invariant } from '../base/errors.ts';
import type { HeldBlocks } from './held-blocks.ts';
import type { SequenceState } from './sequence-state.ts';
import { RowTrace } from './row-trace.ts';

/** What a state was computed from. */
interface Origin {
  readonly ids: readonly number[];
  /** What the state depends on besides the ids: only sequences with the same lineage can reuse it. Default none. */
  readonly lineage?: string | undefined;
  /** Whose text it is; undefined if it names no tenant. */
  readonly tenant?: string | undefined;
}

/** A slot whose state includes the positions of the first `length` ids. */
export interface CachedSlot extends Origin {
  readonly slot: number;
  readonly length: number;
}

const EMPTY = { ids: [], length: 0 };

/**
 * Hands out the slots of a sequence state, with automatic prefix caching: a released slot keeps its state for the next
 * sequence with the same prefix, and slots in use share their prefixes with others; when memory runs short, the least
 * recently used idle slot is evicted first. Bookkeeping only.
 */
export class SlotPool {
  readonly #state: SequenceState;
  /** The least recently used first. */
  #idle: CachedSlot[];
  /** The row capacities with which each slot's state was computed. */
  readonly #traces: RowTrace[];

  constructor(
    state: SequenceState,
    slots: number,
    /** Is told what the slots hold. */
    readonly blocks?: HeldBlocks,
  ) {
    this.#state = state;
    this.#idle = Array.from({ length: slots }, (_, slot) => ({ slot, ...EMPTY }));
    this.#traces = Array.from({ length: slots }, () => new RowTrace());
  }

  /** Positions of the smallest prefix that slots can share; Infinity if they share none. */
  get prefixUnit(): number {
    return this.#state.prefixUnit;
  }

  get free(): number {
    return this.#idle.length;
  }

  /**
   * Takes a slot with the longest available prefix of `ids` except the last id, because its logits are needed, or the
   * slot `only`. Returns the slot and the number of positions that it already holds. Slots in use share their prefixes.
   * Undefined if no such slot is free.
   */
  take(
    ids: readonly number[],
    used: readonly CachedSlot[] = [],
    lineage?: string,
    only?: number,
  ): { slot: number; held: number } | undefined {
    for (const held of used) this.blocks?.hold(held);
    const wanted = { ids, lineage };
    const free = only === undefined ? this.#idle : this.#idle.filter(({ slot }) => slot === only);
    const own = bestOf(free, (idle) => this.#resumable(idle, wanted));
    if (!own) return undefined;
    const donor = bestOf([...used, ...this.#idle], (held) => this.#shareable(held, wanted));
    const shared = donor?.positions ?? 0;
    const receiver =
      free.find(({ length }) => length === 0) ?? free.find((idle) => idle !== donor?.of) ?? own.of;
    // A slot keeps what it holds beyond the common prefix, unless not reusing it would cost as much elsewhere.
    const loss = own.of.length - own.positions;
    const isSpared = loss >= this.#state.prefixUnit && receiver.length < loss;
    const isShared = shared > own.positions || (shared > 0 && isSpared);
    if (!donor || !isShared || receiver === donor.of) return this.#reuse(own.of, own.positions);
    this.#reuse(receiver, 0);
    this.#state.sharePrefix(donor.of.slot, receiver.slot, shared);
    this.#traces[receiver.slot] = this.trace(donor.of.slot).slice(shared);
    this.blocks?.share(donor.of.slot, receiver.slot, shared);
    return { slot: receiver.slot, held: shared };
  }

  /** Makes room for a sequence of `length` positions in a taken slot, evicting like `reserve`. */
  admit(slot: number, length: number): boolean {
    return this.#withRoom(() => this.#state.admit(slot, length));
  }

  /** Makes room for rows of a taken slot, evicting idle slots. False if slots in use hold the memory. */
  reserve(slot: number, first: number, end: number): boolean {
    return this.#withRoom(() => this.#state.reserve(slot, first, end));
  }

  /** Makes room in a taken, empty slot for a saved state, evicting like `reserve`. */
  adopt(slot: number, length: number): boolean {
    return this.#withRoom(() => this.#state.adopt(slot, length));
  }

  /**
   * Records that rows of a taken slot, for which there is room, are planned with a plan of `capacity`; those from
   * `settled` on may be rolled back.
   */
  advance(slot: number, rows: { first: number; end: number; settled: number }, capacity: number): void {
    const { first, end, settled } = rows;
    this.#state.advance(slot, first, end, settled);
    this.trace(slot).note(first, end - first, capacity);
  }

  /** The largest number of positions, at most `length`, from which the sequence of a taken slot can continue. */
  resumable(slot: number, length: number): number {
    return this.#state.resumable(slot, length);
  }

  /**
   * Returns a slot, whose state includes the positions of `ids`, or of more if a step was queued behind the last one
   * that was read.
   */
  give(slot: number, ids: readonly number[], lineage?: string, tenant?: string): void {
    invariant(!this.#idle.some((idle) => idle.slot === slot), `slot ${slot} is in use`);
    const kept = this.#truncate(slot, ids.length);
    const held = { slot, ids, lineage, tenant, length: kept };
    this.#idle.push(held);
    this.blocks?.hold(held);
  }

  /** The row capacities with which a slot's state was computed. The slot's user records there what is computed next. */
  trace(slot: number): RowTrace {
    const trace = this.#traces[slot];
    invariant(trace, `slot ${slot} is one of ${this.#traces.length}`);
    return trace;
  }

  /**
   * What a free slot holds; undefined if it is in use, or there is no such slot. To a tenant that is named, a slot with another's
   * text is empty.
   */
  idle(slot: number, tenant?: string): CachedSlot | undefined {
    const held = this.#idle.find((idle) => idle.slot === slot);
    return held && tenant !== undefined && held.tenant !== tenant ? { slot, ...EMPTY } : held;
  }

  /** Evicts the contents of a free slot. */
  erase(slot: number): void {
    const index = this.#idle.findIndex((idle) => idle.slot === slot);
    invariant(index >= 0, `slot ${slot} is free`);
    this.#forget(index);
  }

  /** Evicts the contents of idle slots. */
  forget(): void {
    for (const [index] of this.#idle.entries()) this.#forget(index);
  }

  #reuse(idle: CachedSlot, length: number): { slot: number; held: number } {
    this.#idle.splice(this.#idle.indexOf(idle), 1);
    return { slot: idle.slot, held: this.#truncate(idle.slot, length) };
  }

  /** Positions of a slot from which a sequence can continue. */
  #resumable(held: CachedSlot, wanted: Origin): number {
    return this.#state.resumable(held.slot, commonLength(held, wanted));
  }

  /** Positions of a slot that a sequence can share. */
  #shareable(held: CachedSlot, wanted: Origin): number {
    return this.#state.shareable(held.slot, commonLength(held, wanted));
  }

  #withRoom(reserves: () => boolean): boolean {
    for (;;) {
      if (reserves()) return true;
      const oldest = this.#idle.findIndex(({ length }) => length > 0);
      if (oldest < 0) return false;
      this.#forget(oldest);
    }
  }

  #forget(index: number): void {
    const { slot } = this.#idle[index] as CachedSlot;
    this.#truncate(slot, 0);
    this.#idle[index] = { slot, ...EMPTY };
  }

  #truncate(slot: number, length: number): number {
    const kept = this.#state.truncate(slot, length);
    this.trace(slot).truncate(kept);
    this.blocks?.truncate(slot, kept);
    return kept;
  }
}

/**
 * The slot with the most positions according to `positionsOf`, and their number; among equals an empty slot, otherwise
 * the first.
 */
function bestOf(
  slots: readonly CachedSlot[],
  positionsOf: (of: CachedSlot) => number,
): { of: CachedSlot; positions: number } | undefined {
  let best: { of: CachedSlot; positions: number } | undefined;
  for (const of of slots) {
    const positions = positionsOf(of);
    const isEmptier = of.length === 0 && best !== undefined && best.of.length > 0;
    if (!best || positions > best.positions || (positions === best.positions && isEmptier)) {
      best = { of, positions };
    }
  }
  return best;
}

/** Length of the common prefix of a slot's contents and a sequence. */
function commonLength({ ids, lineage, length }: CachedSlot, wanted: Origin): number {
  return lineage === wanted.lineage ? Math.min(length, sharedPrefix(ids, wanted.ids)) : 0;
}

/** Length of the common prefix of both, excluding the last id of `wanted`. */
export function sharedPrefix(held: readonly number[], wanted: readonly number[]): number {
  const most = Math.min(held.length, wanted.length - 1);
  let same = 0;
  while (same < most && held[same] === wanted[same]) same++;
  return same;
}

import { invariant } from '../base/errors.ts';
import type { SequenceState } from './sequence-state.ts';
import { RowTrace } from './row-trace.ts';

/** What a state is made from. */
interface Origin {
  readonly ids: readonly number[];
  /** What beside the ids makes it: only sequences of the same go on from it. Default none. */
  readonly lineage?: string | undefined;
}

/** A slot whose state holds the positions of the first `length` ids. */
export interface CachedSlot extends Origin {
  readonly slot: number;
  readonly length: number;
}

const EMPTY = { ids: [], length: 0 };

/**
 * Hands out the slots of a sequence state and does automatic prefix caching: a released slot keeps what it holds for the next
 * sequence that begins with the same ids, and slots in use share their prefixes with others; when memory runs short, the
 * least recently used idle slot is evicted first. Bookkeeping only.
 */
export class SlotPool {
  readonly #state: SequenceState;
  /** The longest idle first. */
  #idle: CachedSlot[];
  /** How what each slot holds was computed. */
  readonly #traces: RowTrace[];

  constructor(state: SequenceState, slots: number) {
    this.#state = state;
    this.#idle = Array.from({ length: slots }, (_, slot) => ({ slot, ...EMPTY }));
    this.#traces = Array.from({ length: slots }, () => new RowTrace());
  }

  /** Positions of the smallest prefix that slots can share; Infinity where they share none. */
  get prefixUnit(): number {
    return this.#state.prefixUnit;
  }

  get free(): number {
    return this.#idle.length;
  }

  /**
   * Takes a slot with as much as can be had of the beginning of `ids`, the last id left out, because its logits are wanted:
   * the slot and the positions it holds already. Slots in use share their prefixes. Undefined when no slot is free.
   */
  take(
    ids: readonly number[],
    used: readonly CachedSlot[] = [],
    lineage?: string,
  ): { slot: number; held: number } | undefined {
    const wanted = { ids, lineage };
    const own = bestOf(this.#idle, (idle) => this.#resumable(idle, wanted));
    if (!own) return undefined;
    const donor = bestOf([...used, ...this.#idle], (held) => this.#shareable(held, wanted));
    const shared = donor?.positions ?? 0;
    const receiver =
      this.#idle.find(({ length }) => length === 0) ??
      this.#idle.find((idle) => idle !== donor?.of) ??
      own.of;
    // What a slot holds beyond the common beginning stays there, unless keeping it would cost as much elsewhere.
    const loss = own.of.length - own.positions;
    const isSpared = loss >= this.#state.prefixUnit && receiver.length < loss;
    const isShared = shared > own.positions || (shared > 0 && isSpared);
    if (!donor || !isShared || receiver === donor.of) return this.#reuse(own.of, own.positions);
    this.#reuse(receiver, 0);
    this.#state.sharePrefix(donor.of.slot, receiver.slot, shared);
    this.#traces[receiver.slot] = this.trace(donor.of.slot).slice(shared);
    return { slot: receiver.slot, held: shared };
  }

  /** Makes room for a sequence of `length` positions in a taken slot, as `reserve`. */
  admit(slot: number, length: number): boolean {
    return this.#withRoom(() => this.#state.admit(slot, length));
  }

  /** Makes room for rows of a taken slot. False when others, who use their slots, hold the memory. */
  reserve(slot: number, first: number, end: number): boolean {
    return this.#withRoom(() => this.#state.reserve(slot, first, end));
  }

  /** Makes room in a taken slot, which holds nothing, for a saved state, as `reserve`. */
  adopt(slot: number, length: number): boolean {
    return this.#withRoom(() => this.#state.adopt(slot, length));
  }

  /** Notes that rows of a taken slot, which have room, are planned, by a plan of `capacity`; from `settled` on they may be taken back. */
  advance(slot: number, rows: { first: number; end: number; settled: number }, capacity: number): void {
    const { first, end, settled } = rows;
    this.#state.advance(slot, first, end, settled);
    this.trace(slot).note(first, end - first, capacity);
  }

  /** The most positions, at most `length`, behind which the sequence of a taken slot can go on. */
  resumable(slot: number, length: number): number {
    return this.#state.resumable(slot, length);
  }

  /**
   * Takes a slot back, whose state holds the positions of `ids`, or of more, because a step was queued behind the last one
   * that was read.
   */
  give(slot: number, ids: readonly number[], lineage?: string): void {
    invariant(!this.#idle.some((idle) => idle.slot === slot), `slot ${slot} is in use`);
    const kept = this.#truncate(slot, ids.length);
    this.#idle.push({ slot, ids, lineage, length: kept });
  }

  /** How what a slot holds was computed. Whoever has the slot notes there what is computed next. */
  trace(slot: number): RowTrace {
    const trace = this.#traces[slot];
    invariant(trace, `slot ${slot} is one of ${this.#traces.length}`);
    return trace;
  }

  /** Evicts what idle slots hold. */
  forget(): void {
    for (const [index] of this.#idle.entries()) this.#forget(index);
  }

  #reuse(idle: CachedSlot, length: number): { slot: number; held: number } {
    this.#idle.splice(this.#idle.indexOf(idle), 1);
    return { slot: idle.slot, held: this.#truncate(idle.slot, length) };
  }

  /** Positions of a slot behind which a sequence can go on. */
  #resumable(held: CachedSlot, wanted: Origin): number {
    return this.#state.resumable(held.slot, commonLength(held, wanted));
  }

  /** Positions of a slot that a sequence can use, too. */
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
    return kept;
  }
}

/** The slot with the most positions of what `positionsOf` says, and how many; of equal ones an empty one, else the first. */
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

/** Positions of a slot that hold what a sequence begins with. */
function commonLength({ ids, lineage, length }: CachedSlot, wanted: Origin): number {
  return lineage === wanted.lineage ? Math.min(length, sharedPrefix(ids, wanted.ids)) : 0;
}

/** How many ids both begin with, at most all but the last of `wanted`. */
export function sharedPrefix(held: readonly number[], wanted: readonly number[]): number {
  const most = Math.min(held.length, wanted.length - 1);
  let same = 0;
  while (same < most && held[same] === wanted[same]) same++;
  return same;
}

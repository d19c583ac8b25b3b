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
 * Hands out the slots of a sequence state. A slot that was given back keeps what it holds, for the next sequence that
 * begins with the same ids, and slots in use share their prefixes with others, too; when memory runs short, the slot that was
 * idle longest forgets first. Bookkeeping only.
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

  /** Positions of the smallest prefix that slots can share. */
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
    const own = this.#bestOf(this.#idle, wanted);
    if (!own) return undefined;
    const donor = this.#bestOf([...used, ...this.#idle], wanted) ?? own;
    const shared = donor.held - (donor.held % this.#state.prefixUnit);
    const receiver =
      this.#idle.find(({ length }) => length === 0) ?? this.#idle.find((idle) => idle !== donor.of) ?? own.of;
    // What a slot holds beyond the common beginning stays there, unless keeping it would cost as much elsewhere.
    const loss = own.of.length - own.held;
    const isSpared = loss >= this.#state.prefixUnit && receiver.length < loss;
    const isShared = shared > own.held || (shared > 0 && isSpared);
    if (!isShared || receiver === donor.of) return this.#reuse(own.of, own.held);
    this.#reuse(receiver, 0);
    this.#state.sharePrefix(donor.of.slot, receiver.slot, shared);
    this.#traces[receiver.slot] = this.trace(donor.of.slot).slice(shared);
    return { slot: receiver.slot, held: shared };
  }

  /** Makes room for so many positions of a taken slot. False, with nothing changed there, when others hold the memory. */
  reserve(slot: number, length: number): boolean {
    for (;;) {
      if (this.#state.reserve(slot, length)) return true;
      const oldest = this.#idle.findIndex(({ length }) => length > 0);
      if (oldest < 0) return false;
      this.#forget(oldest);
    }
  }

  /**
   * Takes a slot back, whose state holds the positions of `ids`, or of more of them, `held`, because a step was queued
   * behind the last one that was read.
   */
  give(slot: number, ids: readonly number[], held = ids.length, lineage?: string): void {
    invariant(!this.#idle.some((idle) => idle.slot === slot), `slot ${slot} is in use`);
    const known = this.#state.keepsPositions || held === ids.length ? ids : [];
    const kept = this.#truncate(slot, known.length);
    this.#idle.push({ slot, ids: known, lineage, length: kept });
  }

  /** How what a slot holds was computed. Whoever has the slot notes there what is computed next. */
  trace(slot: number): RowTrace {
    const trace = this.#traces[slot];
    invariant(trace, `slot ${slot} is one of ${this.#traces.length}`);
    return trace;
  }

  /** Forgets what idle slots hold. */
  forget(): void {
    for (const [index] of this.#idle.entries()) this.#forget(index);
  }

  #reuse(idle: CachedSlot, length: number): { slot: number; held: number } {
    this.#idle.splice(this.#idle.indexOf(idle), 1);
    return { slot: idle.slot, held: this.#truncate(idle.slot, length) };
  }

  /** The slot that holds most of the beginning of `ids`, and how much; of equal ones an empty one, else the first. */
  #bestOf(slots: readonly CachedSlot[], wanted: Origin): { of: CachedSlot; held: number } | undefined {
    let best: { of: CachedSlot; held: number } | undefined;
    for (const of of slots) {
      const held = this.#reusable(of, wanted);
      const isBetter =
        !best || held > best.held || (held === best.held && of.length === 0 && best.of.length > 0);
      if (isBetter) best = { of, held };
    }
    return best;
  }

  /** Positions of a slot that serve a sequence. A state that cannot go back serves it whole or not at all. */
  #reusable({ ids, lineage, length }: CachedSlot, wanted: Origin): number {
    if (lineage !== wanted.lineage) return 0;
    const shared = Math.min(length, sharedPrefix(ids, wanted.ids));
    return this.#state.keepsPositions || shared === length ? shared : 0;
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

/** How many ids both begin with, at most all but the last of `wanted`. */
export function sharedPrefix(held: readonly number[], wanted: readonly number[]): number {
  const most = Math.min(held.length, wanted.length - 1);
  let same = 0;
  while (same < most && held[same] === wanted[same]) same++;
  return same;
}

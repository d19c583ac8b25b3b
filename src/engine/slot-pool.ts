import { invariant } from '../base/errors.ts';
import type { SequenceState } from '../model/sequence-state.ts';
import { RowTrace } from './row-trace.ts';

/** A slot that no sequence uses, with the ids of the positions that its state still holds. */
interface IdleSlot {
  readonly slot: number;
  readonly ids: readonly number[];
}

/**
 * Hands out the slots of a sequence state. A slot that was given back keeps what it holds, for the next sequence that
 * begins with the same ids; when memory runs short, the slot that was idle longest forgets first. Bookkeeping only.
 */
export class SlotPool {
  readonly #state: SequenceState;
  /** The longest idle first. */
  #idle: IdleSlot[];
  /** How what each slot holds was computed. */
  readonly #traces: readonly RowTrace[];

  constructor(state: SequenceState, slots: number) {
    this.#state = state;
    this.#idle = Array.from({ length: slots }, (_, slot) => ({ slot, ids: [] }));
    this.#traces = Array.from({ length: slots }, () => new RowTrace());
  }

  get free(): number {
    return this.#idle.length;
  }

  /**
   * Takes the slot that holds the longest beginning of `ids`, the last id left out, because its logits are wanted: the
   * slot and the positions it holds already. Undefined when no slot is free.
   */
  take(ids: readonly number[]): { slot: number; held: number } | undefined {
    let best: IdleSlot | undefined;
    let held = -1;
    for (const idle of this.#idle) {
      const shared = this.#reusable(idle.ids, ids);
      if (shared > held) [best, held] = [idle, shared];
    }
    if (!best) return undefined;
    this.#idle.splice(this.#idle.indexOf(best), 1);
    this.#truncate(best.slot, held);
    return { slot: best.slot, held };
  }

  /** Makes room for so many positions of a taken slot. False, with nothing changed there, when others hold the memory. */
  reserve(slot: number, length: number): boolean {
    for (;;) {
      if (this.#state.reserve(slot, length)) return true;
      const oldest = this.#idle.findIndex(({ ids }) => ids.length > 0);
      if (oldest < 0) return false;
      this.#forget(oldest);
    }
  }

  /**
   * Takes a slot back, whose state holds the positions of `ids`, or of more of them, `held`, because a step was queued
   * behind the last one that was read.
   */
  give(slot: number, ids: readonly number[], held = ids.length): void {
    invariant(!this.#idle.some((idle) => idle.slot === slot), `slot ${slot} is in use`);
    const known = this.#state.keepsPositions || held === ids.length ? ids : [];
    this.#truncate(slot, known.length);
    this.#idle.push({ slot, ids: known });
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

  /** Positions of an idle slot that serve a sequence. A state that cannot go back serves it whole or not at all. */
  #reusable(held: readonly number[], wanted: readonly number[]): number {
    const shared = sharedPrefix(held, wanted);
    return this.#state.keepsPositions || shared === held.length ? shared : 0;
  }

  #forget(index: number): void {
    const { slot } = this.#idle[index] as IdleSlot;
    this.#truncate(slot, 0);
    this.#idle[index] = { slot, ids: [] };
  }

  #truncate(slot: number, length: number): void {
    this.#state.truncate(slot, length);
    this.trace(slot).truncate(length);
  }
}

/** How many ids both begin with, at most all but the last of `wanted`. */
function sharedPrefix(held: readonly number[], wanted: readonly number[]): number {
  const most = Math.min(held.length, wanted.length - 1);
  let same = 0;
  while (same < most && held[same] === wanted[same]) same++;
  return same;
}

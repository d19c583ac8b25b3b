import { invariant } from '../base/errors.ts';
import type { SequenceState } from './sequence-state.ts';

/**
 * The bookkeeping of recurrent states: each slot has memory of one size, however long its sequence is. The values are
 * states of the layers' graphs with a row for each slot; what begins at position 0 begins from nothing, so that a slot
 * needs no clearing.
 */
export class RecurrentState implements SequenceState {
  readonly context: number;
  readonly keepsPositions = false;
  readonly #slots: number;

  constructor(of: { slots: number; context: number }) {
    invariant(of.slots > 0, 'a recurrent state has slots');
    this.context = of.context;
    this.#slots = of.slots;
  }

  reserve(slot: number, length: number): boolean {
    this.#check(slot);
    return length <= this.context;
  }

  truncate(slot: number, length: number): number {
    this.#check(slot);
    return length;
  }

  get prefixUnit(): number {
    return Infinity;
  }

  sharePrefix(): never {
    invariant(false, "a recurrent state is nobody else's");
  }

  reserved(slot: number): number {
    this.#check(slot);
    return this.context;
  }

  writeBlocks(slot: number): void {
    this.#check(slot);
  }

  #check(slot: number): void {
    invariant(slot >= 0 && slot < this.#slots, `slot ${slot} is one of ${this.#slots}`);
  }
}

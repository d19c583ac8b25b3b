import { invariant } from '../base/errors.ts';
import type { GroupAllocator } from './group-allocator.ts';

/** A copy that has to be made before a step runs: a slot's values into its checkpoint, or back. */
export interface SlotCopy {
  readonly slot: number;
  readonly does: 'save' | 'restore';
}

/**
 * Values that each slot has once and every row changes: recurrent states, the last rows of a convolution. They can be
 * rolled back only to one checkpoint per slot, written before rows that may be rolled back. A sequence from position 0
 * starts from zeros, so slots need not be cleared.
 */
export class SlotGroup implements GroupAllocator {
  readonly table = undefined;
  readonly rollsBack: boolean;
  readonly prefixUnit = Number.POSITIVE_INFINITY;
  /** Copies required by the steps planned since they were last taken, in order. */
  readonly copies: SlotCopy[] = [];
  readonly #context: number;
  /** The number of positions that each slot's values include once all planned steps have run. */
  readonly #positions: Int32Array;
  /** The number of positions that its checkpoint includes; 0 without one. */
  readonly #checkpoints: Int32Array;

  constructor({ slots, context, checkpoints }: { slots: number; context: number; checkpoints: boolean }) {
    this.#context = context;
    this.rollsBack = checkpoints;
    this.#positions = new Int32Array(slots);
    this.#checkpoints = new Int32Array(slots);
  }

  admit(_slot: number, length: number): boolean {
    return length <= this.#context;
  }

  reserve(_slot: number, _first: number, end: number): boolean {
    return end <= this.#context;
  }

  advance(slot: number, first: number, end: number, settled: number): void {
    if (first === 0) this.#checkpoints[slot] = 0;
    else if (first !== this.#positions[slot]) {
      invariant(first === this.#checkpoints[slot], 'rows follow on what the slot or its checkpoint holds');
      this.copies.push({ slot, does: 'restore' });
    }
    if (settled < end && first > 0 && first !== this.#checkpoints[slot]) {
      invariant(this.rollsBack, 'rows are taken back where there are checkpoints');
      this.copies.push({ slot, does: 'save' });
      this.#checkpoints[slot] = first;
    }
    this.#positions[slot] = end;
  }

  resumable(slot: number, length: number): number {
    const position = this.#positions[slot] as number;
    if (position <= length) return position;
    const checkpoint = this.#checkpoints[slot] as number;
    return checkpoint <= length ? checkpoint : 0;
  }

  truncate(slot: number, length: number): void {
    if (length > 0) return;
    this.#positions[slot] = 0;
    this.#checkpoints[slot] = 0;
  }

  /** Makes the slot's values those after `length` positions, which it or its checkpoint holds. */
  settle(slot: number, length: number): void {
    if (length === 0 || this.#positions[slot] === length) return;
    invariant(length === this.#checkpoints[slot], 'a slot or its checkpoint holds its positions');
    this.copies.push({ slot, does: 'restore' });
    this.#positions[slot] = length;
  }

  shareable(): number {
    return 0;
  }

  sharePrefix(): never {
    invariant(false, "what a slot has once is nobody else's");
  }

  adopt(slot: number, length: number): boolean {
    this.#positions[slot] = length;
    this.#checkpoints[slot] = 0;
    return length <= this.#context;
  }

  needed(): { begin: number; end: number } {
    return { begin: 0, end: 0 };
  }
}

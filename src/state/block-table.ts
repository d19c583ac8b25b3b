import { invariant } from '../base/errors.ts';

/**
 * A group's block table on the host, i32 [slots, width]: entry `i` of a slot's row is the block of its positions `i *
 * KV_BLOCK_SIZE ...`. Each row tracks which entries changed since the last upload. Entries without a block keep their
 * last number, which nothing reads.
 */
export class BlockTable {
  readonly words: Int32Array;
  /** The span of changed entries in each row. */
  readonly #begin: Int32Array;
  readonly #end: Int32Array;

  constructor(
    readonly slots: number,
    readonly width: number,
  ) {
    this.words = new Int32Array(slots * width);
    this.#begin = new Int32Array(slots);
    this.#end = new Int32Array(slots);
    this.changeAll();
  }

  get(slot: number, index: number): number {
    return this.words[this.#at(slot, index)] as number;
  }

  set(slot: number, index: number, block: number): void {
    const at = this.#at(slot, index);
    if (this.words[at] === block) return;
    this.words[at] = block;
    this.#begin[slot] = Math.min(this.#begin[slot] as number, index);
    this.#end[slot] = Math.max(this.#end[slot] as number, index + 1);
  }

  /** Marks every entry as changed, because the device has none of them. */
  changeAll(): void {
    this.#begin.fill(0);
    this.#end.fill(this.width);
  }

  /** Calls `each` with the span of `words` that changed in a row, if any did, and marks it as uploaded. */
  takeChanges(slot: number, each: (begin: number, end: number) => void): void {
    const begin = this.#begin[slot] as number;
    const end = this.#end[slot] as number;
    if (begin >= end) return;
    this.#begin[slot] = this.width;
    this.#end[slot] = 0;
    each(slot * this.width + begin, slot * this.width + end);
  }

  #at(slot: number, index: number): number {
    invariant(slot >= 0 && slot < this.slots, `slot ${slot} is one of ${this.slots}`);
    invariant(index >= 0 && index < this.width, `entry ${index} is one of ${this.width}`);
    return slot * this.width + index;
  }
}

import type { BlockTable } from './block-table.ts';

/**
 * State that several layers of a model keep in the same way: the keys and values of all positions (paged), of the last
 * positions (windowed), or one value per sequence that every row changes (per slot). A group allocates its memory and
 * nothing more; the memory itself is states of the layers' graphs. Rows of a step are given by their positions `first .. end
 * - 1`. Steps run in the order in which they were planned: memory that an earlier step reads may be given to a later one.
 */
export interface GroupAllocator {
  /** The block table by which its layers find positions; undefined where they find values by slot. */
  readonly table: BlockTable | undefined;
  /** Whether rows of a step can be rolled back after it has run. */
  readonly rollsBack: boolean;
  /** Positions of the smallest prefix that slots can share: prefixes are shared in whole multiples. Infinity where none can be. */
  readonly prefixUnit: number;
  /** True when there is room for a sequence of `length` positions beside what the slot has; reserves it. */
  admit(slot: number, length: number): boolean;
  /** Makes room for rows to be computed. False, with nothing changed, when there is none. */
  reserve(slot: number, first: number, end: number): boolean;
  /** Records that a step with these rows is planned. Those from `settled` on may be rolled back after it has run. */
  advance(slot: number, first: number, end: number, settled: number): void;
  /** The most positions, at most `length`, behind which the slot's sequence can go on. */
  resumable(slot: number, length: number): number;
  /** Forgets the positions from `length` on; `resumable` gave `length`, or it is 0. */
  truncate(slot: number, length: number): void;
  /** The most positions, at most `length` and a multiple of `prefixUnit`, that another slot may use, too. */
  shareable(slot: number, length: number): number;
  /** Lets the empty slot `to` use positions `0 .. length - 1` of `from`, too; `shareable` gave `length`. */
  sharePrefix(from: number, to: number, length: number): void;
  /** Makes room in an empty slot for a saved state of `length` positions, which is copied in. False when there is none. */
  adopt(slot: number, length: number): boolean;
  /** The entries `begin .. end - 1` of its row that a sequence of `length` positions needs to go on. */
  needed(length: number): { readonly begin: number; readonly end: number };
}

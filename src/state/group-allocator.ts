import type { BlockTable } from './block-table.ts';

/**
 * State that several layers of a model keep in the same way: keys and values of all positions (paged), those of the
 * last positions (windowed), or one value per sequence that every row changes (per slot). A group only does the
 * bookkeeping; the memory itself belongs to states in the layers' graphs. Rows of a step are given by their positions
 * `first .. end - 1`. Steps run in the order in which they were planned, so memory that an earlier step reads may be
 * given to a later one.
 */
export interface GroupAllocator {
  /** The block table by which its layers find positions; undefined if they find values by slot. */
  readonly table: BlockTable | undefined;
  /** Whether rows of a step can be rolled back after it has run. */
  readonly rollsBack: boolean;
  /**
   * Positions of the smallest prefix that slots can share: prefixes are shared in whole multiples. Infinity if none can
   * be.
   */
  readonly prefixUnit: number;
  /** Reserves room for a sequence of `length` positions beside what the slot has. False if there is none. */
  admit(slot: number, length: number): boolean;
  /** Makes room for rows to be computed. False, with nothing changed, if there is none. */
  reserve(slot: number, first: number, end: number): boolean;
  /** Records that a step with these rows is planned. Those from `settled` on may be rolled back after it has run. */
  advance(slot: number, first: number, end: number, settled: number): void;
  /** The largest number of positions, at most `length`, from which the slot's sequence can continue. */
  resumable(slot: number, length: number): number;
  /** Drops the positions from `length` on; `length` is 0 or a result of `resumable`. */
  truncate(slot: number, length: number): void;
  /** The largest number of positions, at most `length` and a multiple of `prefixUnit`, that another slot can share. */
  shareable(slot: number, length: number): number;
  /** Makes the empty slot `to` share positions `0 .. length - 1` of `from`; `length` is a result of `shareable`. */
  sharePrefix(from: number, to: number, length: number): void;
  /**
   * Makes room in an empty slot for a saved state of `length` positions, which is then copied in. False if there is
   * none.
   */
  adopt(slot: number, length: number): boolean;
  /** The entries `begin .. end - 1` of its row that a sequence of `length` positions needs in order to continue. */
  needed(length: number): { readonly begin: number; readonly end: number };
}

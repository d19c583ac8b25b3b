import { invariant } from '../base/errors.ts';
import type { BlockTable } from './block-table.ts';
import type { SlotCopy } from './slot-group.ts';
import { PagedGroup } from './paged-group.ts';
import { SlotGroup } from './slot-group.ts';
import type { GroupAllocator } from './group-allocator.ts';

const NO_COPIES: readonly SlotCopy[] = [];

/**
 * The state of sequences: the memory from which the next token can be computed without recomputing earlier ones. It is
 * a list of groups, because layers keep state in different ways; a sequence supports the operations that all of its
 * groups support. Slots are rows of the groups' block tables and of the per-slot values. Bookkeeping only.
 */
export class SequenceState {
  readonly tables: readonly BlockTable[];
  /** Whether rows of a step can be rolled back after it has run, which draft tokens require. */
  readonly rollsBack: boolean;
  /**
   * Positions of the smallest prefix that slots can share: prefixes are shared in whole multiples. Infinity if none can
   * be.
   */
  readonly prefixUnit: number;
  readonly #slotGroup: SlotGroup | undefined;

  constructor(
    readonly groups: readonly GroupAllocator[],
    /** Maximum positions of a sequence. */
    readonly context: number,
  ) {
    invariant(groups.length > 0, 'a state has groups');
    this.tables = groups.flatMap(({ table }) => table ?? []);
    this.rollsBack = groups.every(({ rollsBack }) => rollsBack);
    this.prefixUnit = Math.max(...groups.map(({ prefixUnit }) => prefixUnit));
    this.#slotGroup = groups.find((group) => group instanceof SlotGroup);
  }

  /** How many blocks of the KV cache of all positions there are, and how many these slots use; undefined if there is none. */
  cacheUse(slots: readonly number[]): { readonly blocks: number; readonly used: number } | undefined {
    const paged = this.groups.find((group) => group instanceof PagedGroup);
    return paged && { blocks: paged.blocks, used: paged.usedBy(slots) };
  }

  /** Whether sequences can share prefixes. */
  get sharesPrefixes(): boolean {
    return this.prefixUnit !== Number.POSITIVE_INFINITY;
  }

  /**
   * Reserves room for a sequence of `length` positions beside what is already held, in groups that others could
   * exhaust. False if there is none.
   */
  admit(slot: number, length: number): boolean {
    return length <= this.context && this.groups.every((group) => group.admit(slot, length));
  }

  /**
   * Makes room for rows `first .. end - 1` of the slot's sequence. False if there is none; what some groups have
   * reserved by then stays with the slot.
   */
  reserve(slot: number, first: number, end: number): boolean {
    return this.groups.every((group) => group.reserve(slot, first, end));
  }

  /**
   * Records that a step with these rows, for which there is room, is planned. Those from `settled` on may be rolled
   * back.
   */
  advance(slot: number, first: number, end: number, settled = end): void {
    for (const group of this.groups) group.advance(slot, first, end, settled);
  }

  /** The largest number of positions, at most `length`, from which the slot's sequence can continue. */
  resumable(slot: number, length: number): number {
    return this.#agreed(length, (group, most) => group.resumable(slot, most));
  }

  /**
   * Drops positions from `length` on, and as many before as continuing requires; returns how many the slot still has.
   */
  truncate(slot: number, length: number): number {
    const kept = this.resumable(slot, length);
    for (const group of this.groups) group.truncate(slot, kept);
    return kept;
  }

  /** The largest number of positions, at most `length`, that another slot can share. */
  shareable(slot: number, length: number): number {
    return this.#agreed(length, (group, most) => group.shareable(slot, most));
  }

  /** Makes the empty slot `to` share positions `0 .. length - 1` of `from`; `length` is a result of `shareable`. */
  sharePrefix(from: number, to: number, length: number): void {
    for (const group of this.groups) group.sharePrefix(from, to, length);
  }

  /** Prepares the state of a slot that holds `length` positions for being saved; `takeCopies` has the copies for that. */
  settle(slot: number, length: number): void {
    this.#slotGroup?.settle(slot, length);
  }

  /** Makes room in an empty slot for a saved state of `length` positions. False if there is none. */
  adopt(slot: number, length: number): boolean {
    return length <= this.context && this.groups.every((group) => group.adopt(slot, length));
  }

  /** The copies that steps planned since the last call need before they run. */
  takeCopies(): readonly SlotCopy[] {
    const copies = this.#slotGroup?.copies;
    return copies && copies.length > 0 ? copies.splice(0) : NO_COPIES;
  }

  /**
   * Prepares for a new device, whose memory is empty: block tables are uploaded again, and pending copies are dropped.
   */
  moveToNewDevice(): void {
    this.takeCopies();
    for (const table of this.tables) table.changeAll();
  }

  /** The largest length that all groups support. */
  #agreed(length: number, most: (group: GroupAllocator, length: number) => number): number {
    let agreed = length;
    for (;;) {
      const before = agreed;
      for (const group of this.groups) agreed = most(group, agreed);
      if (agreed === before) return agreed;
    }
  }
}

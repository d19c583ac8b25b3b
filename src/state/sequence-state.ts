import { invariant } from '../base/errors.ts';
import type { BlockTable } from './block-table.ts';
import type { SlotCopy } from './slot-group.ts';
import { SlotGroup } from './slot-group.ts';
import type { GroupAllocator } from './group-allocator.ts';

const NO_COPIES: readonly SlotCopy[] = [];

/**
 * The state of sequences: the memory that lets the next token be computed without the earlier ones. It is a list of groups,
 * because layers keep state in different ways; a sequence can do what all of its groups can. Slots are rows of the groups'
 * block tables and of the per-slot values. Bookkeeping only.
 */
export class SequenceState {
  readonly tables: readonly BlockTable[];
  /** Whether rows of a step may be taken back when it has run: what drafts want. */
  readonly rollsBack: boolean;
  /** Positions of the smallest prefix that slots can share: prefixes are shared in whole multiples. Infinity where none can be. */
  readonly prefixUnit: number;
  readonly #slotGroup: SlotGroup | undefined;

  constructor(
    readonly groups: readonly GroupAllocator[],
    /** Most positions that a sequence may have. */
    readonly context: number,
  ) {
    invariant(groups.length > 0, 'a state has groups');
    this.tables = groups.flatMap(({ table }) => table ?? []);
    this.rollsBack = groups.every(({ rollsBack }) => rollsBack);
    this.prefixUnit = Math.max(...groups.map(({ prefixUnit }) => prefixUnit));
    this.#slotGroup = groups.find((group) => group instanceof SlotGroup);
  }

  /** True when there is room for a sequence of `length` positions, beside what is held already; reserves what others could take. */
  admit(slot: number, length: number): boolean {
    return length <= this.context && this.groups.every((group) => group.admit(slot, length));
  }

  /**
   * Makes room for rows `first .. end - 1` of the slot's sequence to be computed. False when there is none; what some groups
   * have reserved by then stays the slot's.
   */
  reserve(slot: number, first: number, end: number): boolean {
    return this.groups.every((group) => group.reserve(slot, first, end));
  }

  /** Notes that a step with these rows, which have room, is planned. Those from `settled` on may be taken back. */
  advance(slot: number, first: number, end: number, settled = end): void {
    for (const group of this.groups) group.advance(slot, first, end, settled);
  }

  /** The most positions, at most `length`, behind which the slot's sequence can go on. */
  resumable(slot: number, length: number): number {
    return this.#agreed(length, (group, most) => group.resumable(slot, most));
  }

  /** Forgets positions from `length` on, and from as many before as it takes to go on; gives how many the slot still has. */
  truncate(slot: number, length: number): number {
    const kept = this.resumable(slot, length);
    for (const group of this.groups) group.truncate(slot, kept);
    return kept;
  }

  /** The most positions, at most `length`, that another slot may use, too. */
  shareable(slot: number, length: number): number {
    return this.#agreed(length, (group, most) => group.shareable(slot, most));
  }

  /** Lets the empty slot `to` use positions `0 .. length - 1` of `from`, too; `shareable` gave `length`. */
  sharePrefix(from: number, to: number, length: number): void {
    for (const group of this.groups) group.sharePrefix(from, to, length);
  }

  /** Makes room in an empty slot for a saved state of `length` positions. False when there is none. */
  adopt(slot: number, length: number): boolean {
    return length <= this.context && this.groups.every((group) => group.adopt(slot, length));
  }

  /** The copies that planned steps need before they run, since they were taken last. */
  takeCopies(): readonly SlotCopy[] {
    const copies = this.#slotGroup?.copies;
    return copies && copies.length > 0 ? copies.splice(0) : NO_COPIES;
  }

  /** A device begins without any of it: block tables are uploaded anew, and nothing is copied. */
  moveToNewDevice(): void {
    this.takeCopies();
    for (const table of this.tables) table.changeAll();
  }

  /** The largest length that no group makes smaller. */
  #agreed(length: number, most: (group: GroupAllocator, length: number) => number): number {
    let agreed = length;
    for (;;) {
      const before = agreed;
      for (const group of this.groups) agreed = most(group, agreed);
      if (agreed === before) return agreed;
    }
  }
}

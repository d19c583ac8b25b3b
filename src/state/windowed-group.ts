import { invariant } from '../base/errors.ts';
import { blocksFor, KV_BLOCK_SIZE } from '../model/state-groups.ts';
import { BlockPool } from './block-pool.ts';
import { BlockTable } from './block-table.ts';
import type { GroupAllocator } from './group-allocator.ts';

/** How large a windowed group is. */
export interface WindowedGroupSize {
  readonly blocks: number;
  /** Sequences at once. */
  readonly slots: number;
  /** Positions that one of them may have. */
  readonly context: number;
  /** Positions that a row looks back on, its own among them. */
  readonly window: number;
}

/** What the blocks of a windowed group depend on. */
export interface WindowedGroupUse extends Omit<WindowedGroupSize, 'blocks'> {
  /** Most rows of a step. */
  readonly rows: number;
  /** Most rows of a sequence that may be taken back. */
  readonly drafts: number;
}

/**
 * Blocks with which every slot can hold its window, and rows that may be taken back, while a step writes rows of whichever
 * slots: a window that begins and ends inside of blocks touches two more than it fills, and the rows behind it may begin one.
 */
export function windowBlocks({ slots, context, window, rows, drafts }: WindowedGroupUse): number {
  const each = Math.floor(Math.max(0, window - 2) / KV_BLOCK_SIZE) + 3 + blocksFor(drafts);
  return Math.min(slots * blocksFor(context), slots * each + Math.floor(rows / KV_BLOCK_SIZE));
}

/**
 * Keys and values of the positions that layers with a sliding window look back on. Positions keep their places in the block
 * table while their blocks are used again: those behind the window of what was planned last are taken back when blocks run
 * short, the slot's own first. Until then sequences can go on from them, and share them.
 */
export class WindowedGroup implements GroupAllocator {
  readonly table: BlockTable;
  readonly rollsBack = true;
  readonly prefixUnit = KV_BLOCK_SIZE;
  readonly #context: number;
  readonly #window: number;
  readonly #pool: BlockPool;
  /** The blocks of each slot: entries `begin .. end - 1` of its row. */
  readonly #begin: Int32Array;
  readonly #end: Int32Array;
  /** The first entry of each slot's row that a later step may read. */
  readonly #keep: Int32Array;

  constructor({ blocks, slots, context, window }: WindowedGroupSize) {
    this.#context = context;
    this.#window = window;
    this.#pool = new BlockPool(blocks);
    this.table = new BlockTable(slots, blocksFor(context));
    this.#begin = new Int32Array(slots);
    this.#end = new Int32Array(slots);
    this.#keep = new Int32Array(slots);
  }

  /** Blocks that no slot uses. */
  get freeBlocks(): number {
    return this.#pool.free;
  }

  /** True: there are blocks for the windows of all slots, whatever else there is not. */
  admit(_slot: number, length: number): boolean {
    return length <= this.#context;
  }

  reserve(slot: number, first: number, end: number): boolean {
    if (end > this.#context) return false;
    if (first === 0) this.#beginAnew(slot);
    const needed = this.#entryBefore(first);
    invariant(this.#at(this.#begin, slot) <= needed, 'the window before the first row is there');
    this.#keep[slot] = Math.max(this.#at(this.#keep, slot), needed);
    const held = this.#at(this.#end, slot);
    const wanted = blocksFor(end);
    if (!this.#makeFree(wanted - held, slot)) return false;
    for (let i = held; i < wanted; i++) this.table.set(slot, i, this.#pool.take());
    this.#end[slot] = Math.max(held, wanted);
    return true;
  }

  advance(slot: number, _first: number, _end: number, settled: number): void {
    this.#keep[slot] = this.#entryBefore(settled);
  }

  resumable(slot: number, length: number): number {
    const held = Math.min(length, this.#at(this.#end, slot) * KV_BLOCK_SIZE);
    const last = Math.floor(held / KV_BLOCK_SIZE);
    const isPartial = held % KV_BLOCK_SIZE > 0 && last >= this.#at(this.#begin, slot);
    const whole = isPartial && this.#pool.isShared(this.table.get(slot, last)) ? last * KV_BLOCK_SIZE : held;
    return this.#at(this.#begin, slot) <= this.#entryBefore(whole) ? whole : 0;
  }

  truncate(slot: number, length: number): void {
    const kept = length === 0 ? 0 : Math.max(this.#at(this.#begin, slot), blocksFor(length));
    const begin = this.#at(this.#begin, slot);
    for (let i = this.#at(this.#end, slot) - 1; i >= Math.max(begin, kept); i--) {
      this.#pool.release(this.table.get(slot, i));
    }
    this.#end[slot] = Math.min(this.#at(this.#end, slot), kept);
    if (length === 0) this.#begin[slot] = 0;
    this.#keep[slot] = this.#entryBefore(length);
  }

  shareable(slot: number, length: number): number {
    const whole = KV_BLOCK_SIZE * Math.min(this.#at(this.#end, slot), Math.floor(length / KV_BLOCK_SIZE));
    return this.#at(this.#begin, slot) <= this.#entryBefore(whole) ? whole : 0;
  }

  sharePrefix(from: number, to: number, length: number): void {
    const { begin, end } = this.needed(length);
    for (let i = begin; i < end; i++) {
      const block = this.table.get(from, i);
      this.#pool.share(block);
      this.table.set(to, i, block);
    }
    this.#begin[to] = begin;
    this.#end[to] = end;
    this.#keep[to] = begin;
  }

  adopt(slot: number, length: number): boolean {
    const { begin, end } = this.needed(length);
    if (!this.#makeFree(end - begin, slot)) return false;
    for (let i = begin; i < end; i++) this.table.set(slot, i, this.#pool.take());
    this.#begin[slot] = begin;
    this.#end[slot] = end;
    this.#keep[slot] = begin;
    return true;
  }

  needed(length: number): { begin: number; end: number } {
    return { begin: this.#entryBefore(length), end: blocksFor(length) };
  }

  /** What was lost with a device is computed again, into the blocks that are still the slot's if they begin where it does. */
  #beginAnew(slot: number): void {
    if (this.#at(this.#begin, slot) > 0) this.truncate(slot, 0);
    this.#keep[slot] = 0;
  }

  /** The entry of the first position that a row at `position` looks at. */
  #entryBefore(position: number): number {
    return Math.floor(Math.max(0, position - this.#window + 1) / KV_BLOCK_SIZE);
  }

  /** Takes back what nobody will read until so many blocks are free, from `slot` first. False when that is not enough. */
  #makeFree(blocks: number, slot: number): boolean {
    const { slots } = this.table;
    for (let i = 0; i < slots && this.#pool.free < blocks; i++) this.#reclaim((slot + i) % slots, blocks);
    return this.#pool.free >= blocks;
  }

  #reclaim(slot: number, wanted: number): void {
    const end = Math.min(this.#at(this.#keep, slot), this.#at(this.#end, slot));
    let begin = this.#at(this.#begin, slot);
    while (begin < end && this.#pool.free < wanted) this.#pool.release(this.table.get(slot, begin++));
    this.#begin[slot] = begin;
  }

  #at(of: Int32Array, slot: number): number {
    return of[slot] as number;
  }
}

import { invariant } from '../base/errors.ts';
import { blocksFor, KV_BLOCK_SIZE } from '../model/state-groups.ts';
import { BlockPool } from './block-pool.ts';
import { BlockTable } from './block-table.ts';
import type { GroupAllocator } from './group-allocator.ts';

/** The size of a windowed group. */
export interface WindowedGroupSize {
  readonly blocks: number;
  /** Number of concurrent sequences. */
  readonly slots: number;
  /** Maximum positions of a sequence. */
  readonly context: number;
  /** Size of the window in positions, including the row's own. */
  readonly window: number;
}

/** What determines the number of blocks of a windowed group. */
export interface WindowedGroupUse extends Omit<WindowedGroupSize, 'blocks'> {
  /** Maximum rows of a step. */
  readonly rows: number;
  /** Maximum rows of a sequence that may be rolled back. */
  readonly drafts: number;
}

/**
 * The number of blocks with which every slot can hold its window and rows that may be rolled back, while a step writes
 * rows of any slots: a window that starts and ends inside blocks touches two more than it fills, and the rows after it
 * may start another.
 */
export function windowBlocks({ slots, context, window, rows, drafts }: WindowedGroupUse): number {
  const each = Math.floor(Math.max(0, window - 2) / KV_BLOCK_SIZE) + 3 + blocksFor(drafts);
  return Math.min(slots * blocksFor(context), slots * each + Math.floor(rows / KV_BLOCK_SIZE));
}

/**
 * Keys and values of the positions inside a sliding window. Positions keep their entries in the block table while
 * blocks are reused: blocks that the window of the latest planned row has passed are reclaimed when blocks run short,
 * the slot's own first. Until then, sequences can continue from them and share them.
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

  /** Always true: there are enough blocks for the windows of all slots. */
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

  /**
   * Restarts a slot after its state was lost with the device: it is recomputed into the slot's remaining blocks if
   * these start at position 0.
   */
  #beginAnew(slot: number): void {
    if (this.#at(this.#begin, slot) > 0) this.truncate(slot, 0);
    this.#keep[slot] = 0;
  }

  /** The entry of the first position that a row at `position` attends to. */
  #entryBefore(position: number): number {
    return Math.floor(Math.max(0, position - this.#window + 1) / KV_BLOCK_SIZE);
  }

  /**
   * Reclaims blocks that nobody will read until `blocks` are free, those of `slot` first. False if there are not
   * enough.
   */
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

import { blocksFor, KV_BLOCK_SIZE } from '../model/state-groups.ts';
import { BlockPool } from './block-pool.ts';
import { BlockTable } from './block-table.ts';
import type { GroupAllocator } from './group-allocator.ts';

/** The size of a paged group. */
export interface PagedGroupSize {
  readonly blocks: number;
  /** Number of concurrent sequences. */
  readonly slots: number;
  /** Maximum positions of a sequence. */
  readonly context: number;
}

/**
 * Keys and values of all positions (Kwon et al. 2023, "PagedAttention"): which blocks belong to which slot. Slots whose
 * sequences have a common prefix may share full blocks, which are never written again.
 */
export class PagedGroup implements GroupAllocator {
  readonly table: BlockTable;
  readonly rollsBack = true;
  readonly prefixUnit = KV_BLOCK_SIZE;
  readonly #context: number;
  readonly #pool: BlockPool;
  /** Number of blocks of each slot. */
  readonly #counts: Int32Array;

  constructor({ blocks, slots, context }: PagedGroupSize) {
    this.#context = context;
    this.#pool = new BlockPool(blocks);
    this.table = new BlockTable(slots, blocksFor(context));
    this.#counts = new Int32Array(slots);
  }

  /** Blocks that no slot uses. */
  get freeBlocks(): number {
    return this.#pool.free;
  }

  /** How many blocks there are. */
  get blocks(): number {
    return this.#pool.size;
  }

  /** Different blocks that these slots use. */
  usedBy(slots: readonly number[]): number {
    const used = new Set<number>();
    for (const slot of slots) for (let i = 0; i < this.#count(slot); i++) used.add(this.table.get(slot, i));
    return used.size;
  }

  /** Number of blocks that a slot uses. */
  blocksOf(slot: number): number {
    return this.#count(slot);
  }

  admit(slot: number, length: number): boolean {
    return this.reserve(slot, 0, length);
  }

  reserve(slot: number, _first: number, end: number): boolean {
    const count = this.#count(slot);
    const wanted = blocksFor(end);
    if (end > this.#context || wanted - count > this.#pool.free) return false;
    for (let i = count; i < wanted; i++) this.table.set(slot, i, this.#pool.take());
    this.#counts[slot] = Math.max(count, wanted);
    return true;
  }

  advance(): void {}

  resumable(slot: number, length: number): number {
    const held = Math.min(length, this.#count(slot) * KV_BLOCK_SIZE);
    const last = Math.floor(held / KV_BLOCK_SIZE);
    const isPartial = held % KV_BLOCK_SIZE > 0;
    return isPartial && this.#pool.isShared(this.table.get(slot, last)) ? last * KV_BLOCK_SIZE : held;
  }

  truncate(slot: number, length: number): void {
    const kept = Math.min(this.#count(slot), blocksFor(length));
    for (let i = this.#count(slot) - 1; i >= kept; i--) this.#pool.release(this.table.get(slot, i));
    this.#counts[slot] = kept;
  }

  shareable(slot: number, length: number): number {
    return KV_BLOCK_SIZE * Math.min(this.#count(slot), Math.floor(length / KV_BLOCK_SIZE));
  }

  sharePrefix(from: number, to: number, length: number): void {
    const count = length / KV_BLOCK_SIZE;
    for (let i = 0; i < count; i++) {
      const block = this.table.get(from, i);
      this.#pool.share(block);
      this.table.set(to, i, block);
    }
    this.#counts[to] = count;
  }

  adopt(slot: number, length: number): boolean {
    return this.reserve(slot, 0, length);
  }

  needed(length: number): { begin: number; end: number } {
    return { begin: 0, end: blocksFor(length) };
  }

  #count(slot: number): number {
    return this.#counts[slot] as number;
  }
}

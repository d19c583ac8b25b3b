import { invariant } from '../base/errors.ts';
import { blocksFor, KV_BLOCK_SIZE } from '../model/layer-states.ts';
import type { SequenceState } from './sequence-state.ts';

/** How large a KV cache is. */
export interface KvCacheSize {
  readonly blocks: number;
  /** Sequences at once. */
  readonly slots: number;
  /** Positions that one of them may have. */
  readonly context: number;
}

/**
 * The bookkeeping of a paged KV cache: which blocks of `KV_BLOCK_SIZE` positions belong to which slot. Slots whose sequences
 * begin alike may share full blocks, which nobody writes again. The cells themselves are states of the layers' graphs, one
 * pair of matrices a layer, all addressed by the same block numbers.
 */
export class KvBlockAllocator implements SequenceState {
  readonly context: number;
  readonly keepsPositions = true;
  readonly #free: number[];
  readonly #owned: number[][];
  /** How many slots use a block. */
  readonly #users: Uint32Array;

  constructor(of: KvCacheSize) {
    invariant(of.blocks > 0 && of.slots > 0, 'a KV cache has blocks and slots');
    this.context = of.context;
    // The lowest block is handed out first: a single sequence then lies in one piece.
    this.#free = Array.from({ length: of.blocks }, (_, i) => of.blocks - 1 - i);
    this.#owned = Array.from({ length: of.slots }, () => []);
    this.#users = new Uint32Array(of.blocks);
  }

  reserve(slot: number, length: number): boolean {
    const owned = this.#blocksOf(slot);
    const missing = blocksFor(length) - owned.length;
    if (length > this.context || missing > this.#free.length) return false;
    for (let i = 0; i < missing; i++) {
      const block = this.#free.pop() as number;
      this.#users[block] = 1;
      owned.push(block);
    }
    return true;
  }

  truncate(slot: number, length: number): number {
    const owned = this.#blocksOf(slot);
    while (owned.length > blocksFor(length)) this.#release(owned.pop() as number);
    const last = owned.at(-1);
    const isPartial = length % KV_BLOCK_SIZE > 0 && owned.length === blocksFor(length);
    if (last === undefined || !isPartial || this.#users[last] === 1) return length;
    this.#release(owned.pop() as number);
    return owned.length * KV_BLOCK_SIZE;
  }

  get prefixUnit(): number {
    return KV_BLOCK_SIZE;
  }

  sharePrefix(from: number, to: number, length: number): void {
    const shared = this.#blocksOf(from).slice(0, length / KV_BLOCK_SIZE);
    const owned = this.#blocksOf(to);
    invariant(
      owned.length === 0 && shared.length * KV_BLOCK_SIZE === length,
      'whole blocks go to an empty slot',
    );
    for (const block of shared) this.#users[block] = (this.#users[block] as number) + 1;
    owned.push(...shared);
  }

  reserved(slot: number): number {
    return Math.min(this.context, this.#blocksOf(slot).length * KV_BLOCK_SIZE);
  }

  writeBlocks(slot: number, row: Int32Array): void {
    row.set(this.#blocksOf(slot));
  }

  /** Blocks that no slot owns. */
  freeBlocks(): number {
    return this.#free.length;
  }

  #release(block: number): void {
    const users = (this.#users[block] as number) - 1;
    this.#users[block] = users;
    if (users === 0) this.#free.push(block);
  }

  #blocksOf(slot: number): number[] {
    const owned = this.#owned[slot];
    invariant(owned, `slot ${slot} is one of ${this.#owned.length}`);
    return owned;
  }
}

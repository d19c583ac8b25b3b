import { fail } from '../base/errors.ts';
import type { PagedCache } from '../ops/attention.ts';
import type { GraphBuilder } from '../ops/graph.ts';
import { STATE_BLOCK } from '../ops/state-blocks.ts';
import type { State } from '../ops/value.ts';

/** Positions of one cache block. */
export const KV_BLOCK_SIZE = 32;

/** Blocks that a sequence of `context` positions takes. */
export function blocksFor(context: number): number {
  return Math.ceil(context / KV_BLOCK_SIZE);
}

/** How a KV cache may be stored. */
export const CACHE_TYPES = ['f16', 'q8_0', 'f32'] as const;

/**
 * f16 and f32 hold keys and values as they are; q8_0 in blocks of 32 signed bytes with a half float as their scale, which is
 * 8.5 bits an element, for models whose heads are whole blocks.
 */
export type CacheType = (typeof CACHE_TYPES)[number];

/** The heads of keys and values that a position has in a cache. */
export interface CachedHeads {
  readonly kvHeads: number;
  /** Elements of a head of keys, and of one of values. */
  readonly keySize: number;
  readonly valueSize: number;
}

/** How much memory a layer keeps between steps. */
export interface StateOptions {
  /** Blocks of the KV cache. */
  readonly blocks: number;
  readonly cacheType: CacheType;
}

/** Declares what a layer remembers of its sequences, as states of its graph. */
export class LayerStates {
  readonly #g: GraphBuilder;
  readonly #options: StateOptions;
  readonly #perSlot = new Set<State>();

  constructor(g: GraphBuilder, options: StateOptions) {
    this.#g = g;
    this.#options = options;
  }

  /** A paged cache. Throws `CACHE_TYPE` for heads that are no whole blocks of its type. */
  pagedCache({ kvHeads, keySize, valueSize }: CachedHeads): PagedCache {
    const { blocks, cacheType } = this.#options;
    const odd = [keySize, valueSize].find((size) => size % STATE_BLOCK !== 0);
    if (cacheType === 'q8_0' && odd !== undefined) {
      fail('CACHE_TYPE', { cacheType, headSize: odd, block: STATE_BLOCK });
    }
    const cells = blocks * KV_BLOCK_SIZE;
    return {
      keys: this.#g.state('keys', cacheType, cells, kvHeads * keySize),
      values: this.#g.state('values', cacheType, cells, kvHeads * valueSize),
      blockSize: KV_BLOCK_SIZE,
    };
  }

  /** Values that each slot's sequence has once, f32 [slots, width]. */
  perSlot(name: string, width: number): State {
    const state = this.#g.state(name, 'f32', this.#g.shape.slots, width);
    this.#perSlot.add(state);
    return state;
  }

  /** The states that `perSlot` declared, in order. */
  get slotStates(): readonly State[] {
    return [...this.#perSlot];
  }
}

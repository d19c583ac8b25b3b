import type { PagedCache } from '../ops/attention.ts';
import type { GraphBuilder } from '../ops/graph.ts';
import type { ElementType, State } from '../ops/value.ts';
import { KV_BLOCK_SIZE } from './kv-cache.ts';

/** How much memory a layer keeps between steps. */
export interface StateOptions {
  /** Blocks of the KV cache. */
  readonly blocks: number;
  readonly cacheType: 'f16' | 'f32';
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

  /** A paged cache with keys and values of these widths a position. */
  pagedCache(keyWidth: number, valueWidth: number): PagedCache {
    const cells = this.#options.blocks * KV_BLOCK_SIZE;
    const type: ElementType = this.#options.cacheType;
    return {
      keys: this.#g.state('keys', type, cells, keyWidth),
      values: this.#g.state('values', type, cells, valueWidth),
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

import { fail, invariant } from '../base/errors.ts';
import type { GraphBuilder } from '../ops/graph.ts';
import type { PagedCache } from '../ops/paged-cache.ts';
import { isBlockType, STATE_BLOCK } from '../ops/state-blocks.ts';
import type { State, Tensor } from '../ops/value.ts';
import { KV_BLOCK_SIZE, type SizedGroup, tableName } from './state-groups.ts';

/** Types of the KV cache. */
export const CACHE_TYPES = ['f16', 'q8_0', 'q5_1', 'q4_0', 'f32'] as const;

/** The type of caches for which nothing else was requested. */
export const DEFAULT_CACHE_TYPE = 'f16';

/**
 * f16 and f32 store keys and values directly; q8_0, q5_1 and q4_0 in blocks of 32 elements, 8.5, 6 and 4.5 bits per
 * element, for models whose head sizes are whole blocks. What is stored as q5_1 or q4_0 is rotated before
 * (`HadamardOp`).
 */
export type CacheType = (typeof CACHE_TYPES)[number];

/** The types of keys and of values; if they differ, one of them is in blocks. */
export interface CacheTypes {
  readonly keys: CacheType;
  readonly values: CacheType;
}

/** One type for both, or one for each. */
export function cacheTypes(type: CacheType | CacheTypes): CacheTypes {
  return typeof type === 'string' ? { keys: type, values: type } : type;
}

/** The key and value heads that a cache stores per position, and for how long. */
export interface CachedHeads {
  readonly kvHeads: number;
  /** Elements of a key head, and of a value head. */
  readonly keySize: number;
  readonly valueSize: number;
  /** Size of the sliding window in positions, including the row's own; undefined for all positions. */
  readonly window: number | undefined;
  /** Whether a head's values are the first elements of its keys, so that they are not stored. */
  readonly latent?: boolean;
  /** The earlier layer whose cache it is, which is only read (Gemma 4's E models). Default: the layer has its own. */
  readonly ofLayer?: number | undefined;
}

/** How much state the layers keep between steps. */
export interface StateOptions {
  /** The model's state groups, in `groupsWithin`'s order. */
  readonly groups: readonly SizedGroup[];
  readonly cacheType: CacheType | CacheTypes;
}

/** A state with its group. */
export interface GroupedState {
  readonly state: State;
  /** The group's index in the model. */
  readonly group: number;
}

/** Declares the state that a layer keeps per sequence, as states of its graph, and records their groups. */
export class LayerStates {
  readonly #g: GraphBuilder;
  readonly #options: StateOptions;
  readonly #states = new Map<State, number>();
  readonly #tables = new Map<string, Tensor>();
  #owner: number | undefined;

  constructor(g: GraphBuilder, options: StateOptions) {
    this.#g = g;
    this.#options = options;
  }

  /**
   * A paged cache of all positions, or of those in a window. Throws `CACHE_TYPE` if the head sizes are not whole blocks
   * of its type.
   */
  pagedCache({ kvHeads, keySize, valueSize, window, latent = false, ofLayer }: CachedHeads): PagedCache {
    this.#owner = ofLayer;
    const { groups, cacheType } = this.#options;
    const types = cacheTypes(cacheType);
    this.#requireBlocks(keySize, valueSize);
    const windowed = groups.findIndex((group) => group.kind === 'windowed' && group.window === window);
    const group = windowed < 0 ? groups.findIndex(({ kind }) => kind === 'paged') : windowed;
    const cells = this.#cells(group);
    return {
      keys: this.#declare(group, this.#g.state('keys', types.keys, cells, kvHeads * keySize)),
      values: latent
        ? undefined
        : this.#declare(group, this.#g.state('values', types.values, cells, kvHeads * valueSize)),
      blocks: this.#table(this.#place(group)),
      blockSize: KV_BLOCK_SIZE,
    };
  }

  /**
   * The keys of an indexer for all positions, one head of `keySize` elements, beside the layer's paged cache and in its
   * group; of eight bits at least, since few bits would change which positions are chosen. Throws `CACHE_TYPE` if a head is
   * not whole blocks of the cache's type.
   */
  indexCache(keySize: number): PagedCache {
    this.#requireBlocks(keySize);
    const group = this.#options.groups.findIndex(({ kind }) => kind === 'paged');
    const keys = this.#g.state('index keys', this.#indexType, this.#cells(group), keySize);
    const blockSize = KV_BLOCK_SIZE;
    return { keys: this.#declare(group, keys), values: undefined, blocks: this.#table(0), blockSize };
  }

  /**
   * A cache in whose blocks cells follow the positions' keys, all `keySize` wide; its `blockSize` counts both. Throws
   * `CACHE_TYPE` if a head is not whole blocks of the cache's type.
   */
  cellCache(keySize: number, cells: number): PagedCache {
    const { keys: type } = cacheTypes(this.#options.cacheType);
    return this.#keysInBlocks({ name: 'keys', type, keySize, blockSize: KV_BLOCK_SIZE + cells });
  }

  /** The keys of an indexer for the cells alone, `cells` in the blocks of the layer's cache. Throws like `indexCache`. */
  indexCellCache(keySize: number, cells: number): PagedCache {
    return this.#keysInBlocks({ name: 'index keys', type: this.#indexType, keySize, blockSize: cells });
  }

  /** Values and scores of the positions in a window, f32, until cells are made of them; of a name of their own. */
  pendingCache(name: string, width: number, window: number): PagedCache {
    const { groups } = this.#options;
    const windowed = groups.findIndex((group) => group.kind === 'windowed' && group.window === window);
    const group = windowed < 0 ? groups.findIndex(({ kind }) => kind === 'paged') : windowed;
    const declare = (part: string) =>
      this.#declare(
        group,
        this.#g.state(`${name} ${part}`, 'f32', this.#blocks(group) * KV_BLOCK_SIZE, width),
      );
    return {
      keys: declare('values'),
      values: declare('scores'),
      blocks: this.#table(this.#place(group)),
      blockSize: KV_BLOCK_SIZE,
    };
  }

  /** Values that exist once per slot, f32 [slots, width]. */
  perSlot(name: string, width: number): State {
    const group = this.#options.groups.findIndex(({ kind }) => kind === 'slots');
    return this.#declare(group, this.#g.state(name, 'f32', this.#g.shape.slots, width));
  }

  /** The earlier layer that has the states; undefined for the layer's own. */
  get owner(): number | undefined {
    return this.#owner;
  }

  /** The declared states that are the layer's own, in order. */
  get grouped(): readonly GroupedState[] {
    if (this.#owner !== undefined) return [];
    return Array.from(this.#states, ([state, group]) => ({ state, group }));
  }

  #requireBlocks(...sizes: readonly number[]): void {
    const types = cacheTypes(this.#options.cacheType);
    const cacheType = [types.keys, types.values].find(isBlockType);
    const odd = sizes.find((size) => size % STATE_BLOCK !== 0);
    if (cacheType === undefined || odd === undefined) return;
    fail('CACHE_TYPE', { cacheType, headSize: odd, block: STATE_BLOCK });
  }

  /** Few bits would change which positions are chosen. */
  get #indexType(): CacheType {
    const { keys: type } = cacheTypes(this.#options.cacheType);
    return type === 'q4_0' || type === 'q5_1' ? 'q8_0' : type;
  }

  /** Keys of which blocks of all positions have `blockSize`. */
  #keysInBlocks(of: { name: string; type: CacheType; keySize: number; blockSize: number }): PagedCache {
    const { name, type, keySize, blockSize } = of;
    this.#requireBlocks(keySize);
    const group = this.#options.groups.findIndex(({ kind }) => kind === 'paged');
    const keys = this.#declare(group, this.#g.state(name, type, this.#blocks(group) * blockSize, keySize));
    return { keys, values: undefined, blocks: this.#table(this.#place(group)), blockSize };
  }

  #blocks(group: number): number {
    return this.#options.groups[group]?.blocks ?? 0;
  }

  #cells(group: number): number {
    return this.#blocks(group) * KV_BLOCK_SIZE;
  }

  /** A group's place among those with a block table. */
  #place(group: number): number {
    return this.#options.groups.slice(0, group).filter(({ kind }) => kind !== 'slots').length;
  }

  #declare(group: number, state: State): State {
    invariant(group >= 0, `the model says that its layers remember what ${state.name} holds`);
    this.#states.set(state, group);
    return state;
  }

  #table(place: number): Tensor {
    if (place === 0) return this.#g.batch.blocks;
    const name = tableName(place);
    const { width } = this.#g.batch.blocks;
    const table = this.#tables.get(name) ?? this.#g.input(name, { axis: 'slots', width, type: 'i32' });
    this.#tables.set(name, table);
    return table;
  }
}

/** Positions of one cache block. */
export const KV_BLOCK_SIZE = 32;

/** Blocks that `positions` positions take, from the first on. */
export function blocksFor(positions: number): number {
  return Math.ceil(positions / KV_BLOCK_SIZE);
}

/**
 * What several layers of a model remember of a sequence in one way: keys and values of all positions, or of the last `window`
 * ones, or values of one size that every row changes. A model has one group of each kind, and one for each window, at most.
 */
export type StateGroup =
  | { readonly kind: 'paged' }
  | { readonly kind: 'windowed'; readonly window: number }
  | { readonly kind: 'slots' };

/** A group and the memory that it has. */
export type SizedGroup = StateGroup & {
  /** Cache blocks of each of its layers; 0 where there is a value for each slot. */
  readonly blocks: number;
};

const PAGED: StateGroup = { kind: 'paged' };

/** The group of a cache of the positions in a window, or of all of them without one. */
export function cacheGroup(window: number | undefined): StateGroup {
  return window === undefined ? PAGED : { kind: 'windowed', window };
}

/** Each group once, in the order of their kinds. */
export function distinctGroups(groups: readonly StateGroup[]): StateGroup[] {
  const windows = new Set(groups.flatMap((group) => (group.kind === 'windowed' ? [group.window] : [])));
  const paged = groups.filter(({ kind }) => kind === 'paged').slice(0, 1);
  const perSlot = groups.filter(({ kind }) => kind === 'slots').slice(0, 1);
  return [...paged, ...Array.from(windows, cacheGroup), ...perSlot];
}

/** The groups of a model whose sequences have at most `context` positions: a window as wide as that is none. */
export function groupsWithin(groups: readonly StateGroup[], context: number): StateGroup[] {
  const isWide = (group: StateGroup) => group.kind === 'windowed' && group.window >= context;
  return distinctGroups(groups.map((group) => (isWide(group) ? PAGED : group)));
}

/** What a group's block table is called among the inputs of graphs, by its place among those that have one. */
export function tableName(place: number): string {
  return place === 0 ? 'blocks' : `blocks ${place}`;
}

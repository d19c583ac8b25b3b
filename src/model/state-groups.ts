/** Positions of one cache block. */
export const KV_BLOCK_SIZE = 32;

/** Number of blocks for the first `positions` positions. */
export function blocksFor(positions: number): number {
  return Math.ceil(positions / KV_BLOCK_SIZE);
}

/**
 * State that several layers keep in the same way: keys and values of all positions, or of the last `window` ones, or
 * fixed-size values that every row changes. A model has at most one group of each kind, and one per window size.
 */
export type StateGroup =
  | { readonly kind: 'paged' }
  | { readonly kind: 'windowed'; readonly window: number }
  | { readonly kind: 'slots' };

/** A group with its memory. */
export type SizedGroup = StateGroup & {
  /** Cache blocks in each of its layers; 0 for per-slot values. */
  readonly blocks: number;
};

const PAGED: StateGroup = { kind: 'paged' };

/** The group of a cache with a window, or of all positions without one. */
export function cacheGroup(window: number | undefined): StateGroup {
  return window === undefined ? PAGED : { kind: 'windowed', window };
}

/** The distinct groups, in order of their kinds. */
export function distinctGroups(groups: readonly StateGroup[]): StateGroup[] {
  const windows = new Set(groups.flatMap((group) => (group.kind === 'windowed' ? [group.window] : [])));
  const paged = groups.filter(({ kind }) => kind === 'paged').slice(0, 1);
  const perSlot = groups.filter(({ kind }) => kind === 'slots').slice(0, 1);
  return [...paged, ...Array.from(windows, cacheGroup), ...perSlot];
}

/** The groups of a model with at most `context` positions: a window at least that large counts as none. */
export function groupsWithin(groups: readonly StateGroup[], context: number): StateGroup[] {
  const isWide = (group: StateGroup) => group.kind === 'windowed' && group.window >= context;
  return distinctGroups(groups.map((group) => (isWide(group) ? PAGED : group)));
}

/** The name of a group's block table as a graph input, by its index among the groups that have one. */
export function tableName(place: number): string {
  return place === 0 ? 'blocks' : `blocks ${place}`;
}

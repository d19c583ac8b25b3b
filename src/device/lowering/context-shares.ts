import type { AttentionOp } from '../../ops/index.ts';

/** More shares take longer to be merged than they save. */
const MOST_SHARES = 16;

/**
 * In how many shares attention cuts the context of a row, so that a GPU has work even for few rows: with one, `groups` groups
 * of threads run, and `wanted` are enough. A share has `shortest` positions at least, so that a group has something to do.
 */
export function contextShares(
  { cache, batch, window = Number.POSITIVE_INFINITY }: AttentionOp,
  { groups, wanted, shortest }: { groups: number; wanted: number; shortest: number },
): number {
  const context = Math.min(window, batch.blocks.width * cache.blockSize);
  return Math.max(1, Math.min(Math.floor(wanted / groups), MOST_SHARES, Math.ceil(context / shortest)));
}

import { invariant } from '../../../base/errors.ts';
import { type BatchTensors, type PagedCache, tableWidth } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

/** The row of the cache that holds a slot's position. */
export function cellOf(
  frame: Frame,
  of: { cache: PagedCache; batch: Pick<BatchTensors, 'slots' | 'blocks'>; slot: number; position: number },
): number {
  const { blockSize, keys } = of.cache;
  // Several rows of a table may be side by side.
  const { width } = of.batch.blocks;
  const at = of.slot * tableWidth(of.batch) + Math.floor(of.position / blockSize);
  const block = frame.matrix(of.batch.blocks).scalar(Math.floor(at / width), at % width);
  const cell = block * blockSize + (of.position % blockSize);
  invariant(cell >= 0 && cell < keys.rows, `slot ${of.slot}, position ${of.position} lies in the cache`);
  return cell;
}

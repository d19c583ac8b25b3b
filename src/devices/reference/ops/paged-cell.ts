import { invariant } from '../../../base/errors.ts';
import type { BatchTensors, PagedCache } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

/** The row of the cache that holds a slot's position. */
export function cellOf(
  frame: Frame,
  of: { cache: PagedCache; batch: Pick<BatchTensors, 'blocks'>; slot: number; position: number },
): number {
  const { blockSize, keys } = of.cache;
  const block = frame.matrix(of.batch.blocks).scalar(of.slot, Math.floor(of.position / blockSize));
  const cell = block * blockSize + (of.position % blockSize);
  invariant(cell >= 0 && cell < keys.rows, `slot ${of.slot}, position ${of.position} lies in the cache`);
  return cell;
}

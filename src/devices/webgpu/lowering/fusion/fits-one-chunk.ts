import type { Weight } from '../../../../ops/index.ts';
import { canJoin } from '../group-layout.ts';
import type { Lowering } from '../lowering.ts';
import { packedFormat } from '../packed-formats.ts';
import { DENSE_LAYOUT } from '../weight-layout.ts';
import { GROUP_LAYOUT } from '../group-layout.ts';

/** True for weights that can be laid out one below the other in what a binding spans. */
export function fitsOneChunk(weights: readonly Weight[], to: Lowering): boolean {
  const [first] = weights;
  if (!first || weights.some(({ format, columns }) => format !== first.format || columns !== first.columns)) {
    return false;
  }
  const packed = packedFormat(first.format) !== undefined;
  if (packed && !canJoin(weights)) return false;
  return (packed ? GROUP_LAYOUT : DENSE_LAYOUT).of(weights, to.target).chunks.length === 1;
}

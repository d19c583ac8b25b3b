import { concat } from '../../ops/concat.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { rope, type RopePairs } from '../../ops/rope.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';

/** Rotates the last elements of heads of a size, as many as the table has: f32, like `x`. */
export function ropeOfLast(
  g: GraphBuilder,
  x: Tensor,
  {
    table,
    headSize,
    pairs,
  }: { readonly table: Tensor; readonly headSize: number; readonly pairs: RopePairs },
): Tensor {
  const { width: rotatedSize } = table;
  const plain = headSize - rotatedSize;
  const rotated = (of: Tensor) => rope(g, of, { table, headSize: rotatedSize, pairs });
  if (plain === 0) return rotated(x);
  const heads = x.width / headSize;
  const part = (offset: number, segmentWidth: number) =>
    slice(g, x, { offset, segmentWidth, stride: headSize, width: heads * segmentWidth });
  return concat(g, part(0, plain), rotated(part(plain, rotatedSize)), { aPart: plain, bPart: rotatedSize });
}

import type { Lowering } from './lowering.ts';

/** A grid of that many workgroups, folded where a dimension holds fewer; kernels unfold it by `group_of`. */
export function lineGrid(to: Lowering, groups: number): [number, number] {
  const { gridSize } = to.target;
  return groups <= gridSize ? [groups, 1] : [gridSize, Math.ceil(groups / gridSize)];
}

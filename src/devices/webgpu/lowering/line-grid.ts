import type { Lowering } from './lowering.ts';

/** A grid with that many workgroups, folded if one dimension cannot hold them; kernels unfold it with `group_of`. */
export function lineGrid(to: Lowering, groups: number): [number, number] {
  const { gridSize } = to.target;
  return groups <= gridSize ? [groups, 1] : [gridSize, Math.ceil(groups / gridSize)];
}

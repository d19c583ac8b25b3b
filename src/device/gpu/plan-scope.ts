import type { Tensor, Weight } from '../../ops/index.ts';
import { packedGroups } from '../packing/packed-groups.ts';
import type { GpuFacts } from './facts.ts';
import type { Temporary } from './graph-lowering.ts';
import type { GraphUses } from './graph-uses.ts';
import type { Intent } from './intent.ts';

/** True for weights that are multiplied as integers: of quantized formats. */
export function isPacked({ format }: Weight): boolean {
  return packedGroups(format) !== undefined;
}

/** What parts of a plan ask and tell. */
export interface PlanScope {
  readonly facts: GpuFacts;
  readonly uses: GraphUses;
  /** Rows that a tensor has room for. */
  capacity(tensor: Tensor): number;
  /** True for a tensor of so few rows that matrix-vector kernels take them at once. */
  hasFewRows(tensor: Tensor): boolean;
  /** Scratch of that many bytes. */
  temporary(byteLength: number): Temporary;
  add(intent: Intent): void;
}

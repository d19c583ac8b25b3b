import type { MemoryRules } from '../device/index.ts';
import { weightRowBytes } from '../ops/value.ts';
import { BatchInputs } from './batch-inputs.ts';
import type { BatchPlan } from './batch-plan.ts';
import type { PlannedWeight } from './layer-plan.ts';

/** Bytes of each tensor of a weight, in the file or as it is packed, whichever is more. */
export function partBytes({ packed, tensors }: PlannedWeight): number[] {
  return packed.parts.map((of, i) => Math.max(of.rows * weightRowBytes(of), tensors[i]?.byteLength ?? 0));
}

/** Bytes of each weight on the device. */
export function bytesByKey(weights: readonly PlannedWeight[]): Map<string, number> {
  return new Map(weights.map(({ key, packed }) => [key, packed.byteLength]));
}

/** Sizes of the small inputs' buffers, those in pinned memory only where that is the device's own. */
export function inputBytes({ shape }: BatchPlan, inFlight: number, { pinnedInside }: MemoryRules): number[] {
  const count = pinnedInside ? 1 + inFlight : 1;
  return Array.from({ length: count }, () => BatchInputs.byteLength(shape));
}

import { fail } from '../base/errors.ts';
import type { OpGraph } from '../ops/graph.ts';

/**
 * Throws `OP_UNSUPPORTED` for a graph with copies of experts' matrices, or with counts of their uses: for devices whose kernels have
 * no use for either, as these read no memory that is further away.
 */
export function refuseHotExperts(device: string, { ops }: OpGraph): void {
  for (const op of ops) {
    const has = (op.kind === 'matmulExperts' && op.hot) || (op.kind === 'routeExperts' && op.uses);
    if (has) fail('OP_UNSUPPORTED', { device, op: op.kind, why: 'it has one place for all experts' });
  }
}

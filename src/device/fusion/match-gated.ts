import type { GatedOp, MatmulOp } from '../../ops/index.ts';
import type { GraphUses } from '../gpu/graph-uses.ts';

/** Gate and up, products of one tensor by weights of one format and without bias, that nobody else reads. */
export function matchGated(
  op: GatedOp,
  uses: GraphUses,
): { readonly gate: MatmulOp; readonly up: MatmulOp } | undefined {
  if (op.gate === op.up) return undefined;
  const gate = uses.producer(op.gate);
  const up = uses.producer(op.up);
  if (gate?.kind !== 'matmul' || up?.kind !== 'matmul') return undefined;
  const alone = uses.onlyReader(op.gate) === op && uses.onlyReader(op.up) === op;
  const alike = gate.x === up.x && gate.weight.format === up.weight.format && !gate.bias && !up.bias;
  return alone && alike ? { gate, up } : undefined;
}

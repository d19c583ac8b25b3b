import { type Fusion, type GraphUses, matchGated } from '../../../../device/index.ts';
import type { GatedOp, MatmulOp, Op } from '../../../../ops/index.ts';
import { activationCode } from '../elementwise.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatvec } from '../matvec.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { formFor } from './form-for.ts';

/** Gate and up as one product, with the activation behind it, in the form that a product reads next. */
export function fuseGated(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  const found = op.kind === 'gated' ? matchGated(op, uses) : undefined;
  if (op.kind !== 'gated' || !found || !isInteger(found.gate)) return undefined;
  const { gate, up } = found;
  return { ops: [gate, up, op], emit: () => launchGated(to, uses, op, [gate, up]) };
}

function launchGated(to: Lowering, uses: GraphUses, op: GatedOp, [gate, up]: [MatmulOp, MatmulOp]): void {
  const form = formFor(op.out, uses, to);
  const y = form === 'floats' ? op.out : to.activations.provide(op.out, form);
  const activation = activationCode(op.fn);
  const of = { x: gate.x, weights: [gate.weight, up.weight], outputs: gate.weight.rows, y };
  if (isMatvec(gate, to)) {
    const output = form === 'quantized' ? 'gatedQuantized' : 'gated';
    launchMatvec(to, { ...of, output, defines: { ACTIVATION: activation } });
  } else launchProduct(to, { ...of, output: form === 'halves' ? 'gatedHalves' : 'gated', activation });
}

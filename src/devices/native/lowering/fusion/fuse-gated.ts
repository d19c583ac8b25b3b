import type { GatedOp, MatmulOp, Op } from '../../../../ops/index.ts';
import { activationCode } from '../elementwise.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatvec } from '../matvec.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { formFor } from './form-for.ts';
import type { Fusion } from './fusion.ts';
import type { GraphUses } from './graph-uses.ts';

/** Gate and up as one product, with the activation behind it, in the form that a product reads next. */
export function fuseGated(op: Op, uses: GraphUses): Fusion | undefined {
  if (op.kind !== 'gated' || op.gate === op.up) return undefined;
  const gate = uses.producer(op.gate);
  const up = uses.producer(op.up);
  if (gate?.kind !== 'matmul' || up?.kind !== 'matmul') return undefined;
  const alone = uses.onlyReader(op.gate) === op && uses.onlyReader(op.up) === op;
  const alike = gate.x === up.x && gate.weight.format === up.weight.format && !gate.bias && !up.bias;
  if (!alone || !alike || !isInteger(gate)) return undefined;
  return { ops: [gate, up, op], emit: (to) => launchGated(to, uses, op, [gate, up]) };
}

function launchGated(to: Lowering, uses: GraphUses, op: GatedOp, [gate, up]: [MatmulOp, MatmulOp]): void {
  const form = formFor(op.out, uses, to);
  const y = form === 'floats' ? op.out : to.activations.space(op.out, form);
  const activation = activationCode(op.fn);
  const of = { x: gate.x, weights: [gate.weight, up.weight], outputs: gate.weight.rows, y };
  if (isMatvec(gate, to)) {
    const output = form === 'quantized' ? 'gatedQuantized' : 'gated';
    launchMatvec(to, { ...of, output, defines: { ACTIVATION: activation } });
  } else launchProduct(to, { ...of, output: form === 'halves' ? 'gatedHalves' : 'gated', activation });
  if (form !== 'floats') to.activations.provide(op.out, form, y);
}

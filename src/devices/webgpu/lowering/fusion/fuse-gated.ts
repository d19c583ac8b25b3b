import { type Fuse, matchGated } from '../../../../device/index.ts';
import type { GatedOp, MatmulOp } from '../../../../ops/index.ts';
import { FINISH_GATED, FINISH_GATED_QUANTIZED } from '../../kernels/finish.ts';
import { activationText, FUNCTIONS } from '../../kernels/library/functions.ts';
import { QUANTIZE_TEAM } from '../../kernels/library/quantize.ts';
import { ROWS_IN_ORDER } from '../../kernels/matvec.ts';
import type { Activations } from '../activations.ts';
import { type Lowering, write } from '../lowering.ts';
import { takesHalves } from '../matrix-product.ts';
import { type Finish, launchMatvec } from '../matvec.ts';
import { isMatvec, quantizedScalesAt } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { fitsOneChunk } from './fits-one-chunk.ts';
import { formRead } from './form-read.ts';

/** Gate and up as one product, with the activation behind it, in the form that a product reads next. */
export function fuseGated(to: Lowering, activations: Activations): Fuse {
  return (op, uses) => {
    const found = op.kind === 'gated' ? matchGated(op, uses) : undefined;
    if (op.kind !== 'gated' || !found) return undefined;
    const { gate, up } = found;
    if (!fitsOneChunk([gate.weight, up.weight], to)) return undefined;
    return {
      ops: [gate, up, op],
      emit: () => {
        const weights = [gate.weight, up.weight];
        const form = formRead(op.out, uses, to);
        if (isMatvec(gate, to)) launchGated(op, { gate, form, to, activations, weights });
        else {
          const halves = form === 'halves' && takesHalves(gate, to);
          const y = halves ? activations.provide(op.out, 'halves') : op.out;
          const product = { x: gate.x, weights, y, kind: 'none', gated: op.fn } as const;
          launchProduct(to, activations, { ...product, form: halves ? 'halves' : 'floats' });
        }
      },
    };
  };
}

function launchGated(
  op: GatedOp,
  of: {
    gate: MatmulOp;
    form: ReturnType<typeof formRead>;
    to: Lowering;
    activations: Activations;
    weights: readonly MatmulOp['weight'][];
  },
): void {
  const { to, activations, form, gate } = of;
  const width = op.out.width;
  const made = form === 'quantized' ? activations.provide(op.out, 'quantized') : undefined;
  const finish: Finish = {
    args: { y: made ? write(made, 'array<u32>') : write(op.out) },
    texts: [
      ROWS_IN_ORDER,
      FUNCTIONS,
      activationText(op.fn),
      ...(made ? [FINISH_GATED_QUANTIZED, QUANTIZE_TEAM] : [FINISH_GATED]),
    ],
    constants: { WIDTH: width, Y_SCALES_AT: quantizedScalesAt(to.capacity(op.out), width) },
  };
  launchMatvec(to, activations, {
    name: 'gated_matvec',
    x: gate.x,
    weights: of.weights,
    parts: 2,
    whole: true,
    finish: () => finish,
  });
}

import { type Fuse, type GraphUses, matchGated } from '../../../../device/index.ts';
import type { GatedOp, MatmulOp, Tensor } from '../../../../ops/index.ts';
import { FINISH_GATED, FINISH_GATED_QUANTIZED } from '../../kernels/finish.ts';
import { activationText, FUNCTIONS } from '../../kernels/library/functions.ts';
import { QUANTIZE_TEAM } from '../../kernels/library/quantize.ts';
import { ROWS_IN_ORDER } from '../../kernels/matvec.ts';
import type { Activations } from '../activations.ts';
import { type Lowering, write } from '../lowering.ts';
import { type Finish, launchMatvec, OUTPUTS_A_GROUP } from '../matvec.ts';
import { isInteger, isMatvec, quantizedScalesAt } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { fitsOneChunk } from './fits-one-chunk.ts';

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
        if (!isMatvec(gate, to)) {
          launchProduct(to, { x: gate.x, weights, y: op.out, kind: 'none', gated: op.fn });
        } else
          launchGated(op, { gate, quantized: isReadQuantized(op.out, uses, to), to, activations, weights });
      },
    };
  };
}

/** True for a result that only integer products of few rows read. */
export function isReadQuantized(tensor: Tensor, uses: GraphUses, to: Lowering): boolean {
  const readers = uses.readers(tensor);
  const products = readers.every(
    (reader) => reader.kind === 'matmul' && isInteger(reader) && isMatvec(reader, to),
  );
  return readers.length > 0 && products && tensor.width % OUTPUTS_A_GROUP === 0;
}

function launchGated(
  op: GatedOp,
  of: {
    gate: MatmulOp;
    quantized: boolean;
    to: Lowering;
    activations: Activations;
    weights: readonly MatmulOp['weight'][];
  },
): void {
  const { to, activations, quantized, gate } = of;
  const width = op.out.width;
  const made = quantized ? activations.space(op.out) : undefined;
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
  if (made) activations.provide(op.out, made);
}

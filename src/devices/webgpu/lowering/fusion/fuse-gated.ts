import { type Fusion, type GraphUses, matchGated } from '../../../../device/index.ts';
import type { GatedOp, MatmulOp, Op } from '../../../../ops/index.ts';
import { FINISH_GATED, FINISH_GATED_QUANTIZED } from '../../kernels/finish.ts';
import { activationText, FUNCTIONS } from '../../kernels/library/functions.ts';
import { QUANTIZE_TEAM } from '../../kernels/library/quantize.ts';
import { ROWS_IN_ORDER } from '../../kernels/matvec.ts';
import { write } from '../launch-plan.ts';
import type { Lowering } from '../lowering.ts';
import { takesHalves } from '../matrix-product.ts';
import { type Finish, launchMatvec } from '../matvec.ts';
import { isMatvec, quantizedScalesAt } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { fitsOneChunk } from './fits-one-chunk.ts';
import { formRead } from './form-read.ts';

/** Gate and up as one product, with the activation behind it, in the form that a product reads next. */
export function fuseGated(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  const found = op.kind === 'gated' ? matchGated(op, uses) : undefined;
  if (op.kind !== 'gated' || !found) return undefined;
  const { gate, up } = found;
  if (!fitsOneChunk([gate.weight, up.weight], to)) return undefined;
  const launch = isMatvec(gate, to) ? launchGatedMatvec : launchGatedProduct;
  return { ops: [gate, up, op], emit: () => launch(op, { gate, up, form: formRead(op.out, uses, to) }, to) };
}

/** Two products, and the form in which what is made of them is read. */
interface GatedProducts {
  readonly gate: MatmulOp;
  readonly up: MatmulOp;
  readonly form: ReturnType<typeof formRead>;
}

function launchGatedProduct(op: GatedOp, { gate, up, form }: GatedProducts, to: Lowering): void {
  const halves = form === 'halves' && takesHalves(gate, to);
  launchProduct(to, {
    x: gate.x,
    weights: [gate.weight, up.weight],
    y: halves ? to.activations.provide(op.out, 'halves') : op.out,
    kind: 'none',
    gated: op.fn,
    form: halves ? 'halves' : 'floats',
  });
}

function launchGatedMatvec(op: GatedOp, { gate, up, form }: GatedProducts, to: Lowering): void {
  const width = op.out.width;
  const made = form === 'quantized' ? to.activations.provide(op.out, 'quantized') : undefined;
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
  launchMatvec(to, {
    name: 'gated_matvec',
    x: gate.x,
    weights: [gate.weight, up.weight],
    parts: 2,
    whole: true,
    finish: () => finish,
  });
}

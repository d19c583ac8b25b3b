import { fail } from '../../../base/errors.ts';
import type {
  AddedExpertsIntent,
  CombineResidualIntent,
  ExpertProductIntent,
  GatedExpertsIntent,
  HeadProductIntent,
} from '../../../device/index.ts';
import {
  type CombineExpertsOp,
  type MatmulExpertsOp,
  type RouteExpertsOp,
  readsOwnPart,
  type ScaleExpertsOp,
  type Weight,
  weightRowBytes,
} from '../../../ops/index.ts';
import { launchExpertMatvec } from './expert-matvec.ts';
import { launchExpertProduct } from './expert-product.ts';
import { launchDenseProduct } from './product.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { hotArgs, hotOf } from './hot-experts.ts';
import { isPacked } from './packed-formats.ts';
import { FILE_LAYOUT, FLOAT_LAYOUT, fileFormat } from './weight-layout.ts';

/** Maximum experts for a block's shared memory. */
const MAX_EXPERTS = 4096;
const THREADS = 256;
/** Kernels' codes of gates: SIGMOID of `route-experts.hip`. */
const GATE_CODES = { softmax: 0, sigmoid: 1, sqrt_softplus: 2 } as const;

export function lowerRouteExperts(op: RouteExpertsOp, to: Lowering): void {
  const {
    logits,
    bias,
    chosen,
    expertIds,
    routingWeights,
    topK,
    gate,
    normalized,
    scale,
    groups,
    topKGroups,
    uses,
  } = op;
  if (logits.width > MAX_EXPERTS) {
    const why = `there are ${logits.width} experts, more than ${MAX_EXPERTS}`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op: 'routeExperts', why });
  }
  to.launch({
    file: 'route-experts.hip',
    kernel: 'route_experts',
    defines: {
      EXPERTS: logits.width,
      TOP_K: topK,
      SIGMOID: GATE_CODES[gate],
      ...(chosen && { CHOSEN: 1 }),
      ...(uses && { COUNTED: 1 }),
      NORMALIZED: normalized ? 1 : 0,
      GROUPS: groups,
      TOP_K_GROUPS: topKGroups,
    },
    grid: [to.capacity(logits)],
    block: 32,
    args: [
      to.count(logits),
      logits,
      bias ? to.weight([bias], FLOAT_LAYOUT) : (chosen ?? NULL),
      expertIds,
      routingWeights,
      ...(uses ? [uses] : []),
      float(scale),
    ],
  });
}

/** A product with routed experts' weights. */
export function emitExpertProduct({ op, x, grouped }: ExpertProductIntent, to: Lowering): void {
  if (isPacked(op.weight.format)) emitPacked({ op, x, grouped, biases: op.bias ? [op.bias] : [] }, to);
  else emitDenseExperts(op, to);
}

/** A product of each head with a matrix of its own. */
export function emitHeadProduct({ op, x, grouped }: HeadProductIntent, to: Lowering): void {
  if (isPacked(op.weight.format)) emitPacked({ op, x, grouped, biases: [] }, to);
  else launchDenseProduct({ ...op, rows: op.x, bias: NULL, y: op.out }, to);
}

/** A product by packed weights, with a bias for each or none. */
function emitPacked(
  of: Pick<ExpertProductIntent | HeadProductIntent, 'op' | 'x' | 'grouped'> & {
    readonly biases: readonly Weight[];
  },
  to: Lowering,
): void {
  const { op, x, grouped, biases } = of;
  const product = { op, x, weights: [op.weight], hot: hotOf([op]), biases, y: op.out };
  if (grouped) launchExpertProduct({ ...product, gated: undefined }, to);
  else {
    launchExpertMatvec(to, {
      ...product,
      choices: 'each',
      output: 'floats',
      routingWeights: undefined,
      addend: undefined,
      activation: undefined,
    });
  }
}

/** Gate and up of the routed experts, with the activation. */
export function emitGatedExperts(of: GatedExpertsIntent, to: Lowering): void {
  const { gate, up, x, y, form } = of;
  const biases = gate.bias && up.bias ? [gate.bias, up.bias] : [];
  const ops = up === gate ? [gate] : [gate, up];
  const weights = ops.map(({ weight }) => weight);
  const product = { op: gate, x, weights, hot: hotOf(ops), biases, y };
  if (of.grouped) launchExpertProduct({ ...product, gated: { fn: of.op.fn, form } }, to);
  else {
    launchExpertMatvec(to, {
      ...product,
      choices: 'each',
      output: form === 'q8' ? 'gatedQuantized' : 'gated',
      routingWeights: of.routingWeights,
      addend: undefined,
      activation: of.op.fn,
    });
  }
}

/** The down projection of routed experts, summed over a row's choices. */
export function emitAddedExperts(
  { op, x, routingWeights, addend, y }: AddedExpertsIntent,
  to: Lowering,
): void {
  launchExpertMatvec(to, {
    op,
    x,
    weights: [op.weight],
    hot: hotOf([op]),
    biases: op.bias ? [op.bias] : [],
    choices: 'added',
    output: addend ? 'residual' : 'floats',
    y,
    routingWeights: op.bias && routingWeights,
    addend,
    activation: undefined,
  });
}

/** A product whose weights are decoded to f32 while they are read. */
function emitDenseExperts(op: MatmulExpertsOp, to: Lowering): void {
  const { x, expertIds, weight, outputs, bias, hot, out } = op;
  const chosen = expertIds.width;
  const bytes = outputs * weightRowBytes(weight);
  const copies = hot && { slots: hot.slots, weight: to.weight([hot.weight], FILE_LAYOUT), bytes };
  to.launch({
    file: 'expert-dense.hip',
    kernel: 'expert_dense',
    defines: { FILE_FORMAT: fileFormat(weight), ...(copies && { HOT: 1 }) },
    grid: [Math.ceil(outputs / 4), to.capacity(x) * chosen],
    block: 128,
    args: [
      to.count(x),
      x,
      to.weight([weight], FILE_LAYOUT),
      ...hotArgs(copies),
      bias ? to.weight([bias], FLOAT_LAYOUT) : NULL,
      expertIds,
      out,
      int(weight.rows / outputs),
      int(weight.columns),
      int(outputs),
      int(chosen),
      int(readsOwnPart(op) ? chosen : 1),
    ],
  });
}

export function lowerScaleExperts({ x, expertIds, scales, out }: ScaleExpertsOp, to: Lowering): void {
  to.launch({
    file: 'scale-experts.hip',
    kernel: 'scale_experts',
    grid: [Math.ceil(out.width / THREADS), to.capacity(out)],
    block: THREADS,
    args: [
      to.count(out),
      x,
      expertIds,
      to.weight([scales], FLOAT_LAYOUT),
      out,
      int(out.width / expertIds.width),
      int(expertIds.width),
      int(scales.columns),
    ],
  });
}

export function lowerCombineExperts(op: CombineExpertsOp, to: Lowering): void {
  launchCombine(op, to, { addend: NULL, y: op.out });
}

/** Sums the choices' results, and adds another tensor. */
export function emitCombineResidual({ op, addend, y }: CombineResidualIntent, to: Lowering): void {
  launchCombine(op, to, { addend, y });
}

function launchCombine(
  { x, routingWeights, out }: CombineExpertsOp,
  to: Lowering,
  { addend, y }: { addend: Operand; y: Operand },
): void {
  to.launch({
    file: 'combine-experts.hip',
    kernel: 'combine_experts',
    grid: [Math.ceil(out.width / THREADS), to.capacity(out)],
    block: THREADS,
    args: [to.count(out), x, routingWeights, addend, y, int(out.width), int(routingWeights.width)],
  });
}

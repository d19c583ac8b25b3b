import { fail } from '../../../base/errors.ts';
import type { ExpertProductIntent, ProductInput } from '../../../device/index.ts';
import {
  type CombineExpertsOp,
  LEAST_SHARE_SUM,
  type MatmulExpertsOp,
  type RouteExpertsOp,
  readsOwnPart,
  type ScaleExpertsOp,
} from '../../../ops/index.ts';
import {
  ALL_GROUPS,
  BEST_GROUPS,
  COMBINE_EXPERTS,
  EXPERT_ACTIVATIONS,
  EXPERT_DENSE_PRODUCT,
  GATES,
  MATMUL_EXPERTS,
  ROUTE_EXPERTS,
  SCALE_EXPERTS,
  SCORES_BIASED,
  SCORES_PLAIN,
} from '../kernels/experts.ts';
import { FUNCTIONS } from '../kernels/library/functions.ts';
import { QUANTIZE_GROUP } from '../kernels/library/quantize.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { launchElementwise } from './elementwise.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { type Matrix, matrixOf } from './matrix.ts';
import { packedProduct } from './matvec.ts';
import { type KernelPart, numberInput } from './product-input.ts';
import { quantizedScalesAt } from './staging.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
const OUTPUTS_A_GROUP = 32;

export function lowerRouteExperts(op: RouteExpertsOp, to: Lowering): void {
  const { logits, bias, experts, shares, chosen, groups, chosenGroups } = op;
  const { threads, workgroupBytes } = to.target;
  if (8 * logits.width + 4 * threads > workgroupBytes) {
    const why = `${logits.width} experts are more than workgroup memory holds`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: 'routeExperts', why });
  }
  to.launch({
    name: 'route_experts',
    texts: [
      ROUTE_EXPERTS,
      FUNCTIONS,
      GATES[op.gate],
      bias ? SCORES_BIASED : SCORES_PLAIN,
      groups === chosenGroups ? ALL_GROUPS : BEST_GROUPS,
      reduceText(to.target, { team: threads, threads }),
    ],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(logits),
      EXPERTS: logits.width,
      CHOSEN: chosen,
      GROUPS: groups,
      CHOSEN_GROUPS: chosenGroups,
      NORMALIZED: op.normalized,
      SCALE: { f32: op.scale },
      LEAST_SHARE_SUM: { f32: LEAST_SHARE_SUM },
    },
    args: {
      counts: to.counts,
      x: read(logits),
      ...(bias ? { bias: to.vector(bias, FLOAT_LAYOUT) } : {}),
      experts: write(experts, 'array<i32>'),
      shares: write(shares),
    },
    grid: [to.capacity(logits)],
  });
}

/** A product with chosen experts' weights. */
export function emitExpertProduct({ op, x }: ExpertProductIntent, to: Lowering): void {
  const { experts, weight, outputs, out } = op;
  const matrix = matrixOf([weight], to);
  const input = inputOf(op, x, matrix, to);
  const chosen = experts.width;
  const choices = to.capacity(out) * chosen;
  if (choices > to.target.gridSize) {
    const why = `${choices} choices are more than a grid's ${to.target.gridSize}`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: 'matmulExperts', why });
  }
  for (const chunk of matrix.weight.chunks) {
    to.launch({
      name: 'matmul_experts',
      texts: [
        MATMUL_EXPERTS,
        reduceText(to.target, { team: 32, threads: THREADS }),
        ...matrix.texts,
        ...input.texts,
      ],
      constants: {
        THREADS,
        COUNT: to.countOf(out),
        CHOSEN: chosen,
        CHOICES_A_ROW: readsOwnPart(op) ? 1 : chosen,
        EXPERTS: weight.rows / outputs,
        EXPERT_ROWS: outputs,
        OUTPUTS: OUTPUTS_A_GROUP,
        ROWS: 1,
        FIRST_ROW: chunk.firstRow,
        CHUNK_ROWS: chunk.rowCount,
        ...matrix.constants,
        ...input.constants,
      },
      args: {
        counts: to.counts,
        experts: read(experts, 'array<i32>'),
        weight: matrix.argument(chunk),
        ...input.args,
        y: write(out),
      },
      grid: [Math.ceil(outputs / OUTPUTS_A_GROUP), choices],
    });
  }
}

/** Activations of a choice, quantized for integer products: parts of a row read as rows of their own. */
function inputOf(
  { x, weight }: MatmulExpertsOp,
  input: ProductInput,
  matrix: Matrix,
  to: Lowering,
): KernelPart {
  if (matrix.packed) {
    return {
      args: { x: read(input.x, 'array<vec4<u32>>') },
      texts: [...packedProduct(weight.columns, to.target), EXPERT_ACTIVATIONS, QUANTIZE_GROUP],
      constants: { X_SCALES_AT: quantizedScalesAt(to.capacity(x), x.width) },
    };
  }
  const numbers = numberInput(input, weight.columns);
  return { ...numbers, texts: [EXPERT_DENSE_PRODUCT, ...numbers.texts] };
}

export function lowerScaleExperts({ x, experts, scales, out }: ScaleExpertsOp, to: Lowering): void {
  launchElementwise(to, 'scale_experts', {
    texts: [SCALE_EXPERTS],
    args: { x: read(x), experts: read(experts, 'array<i32>'), scales: to.vector(scales, FLOAT_LAYOUT) },
    out,
    constants: { EXPERT_WIDTH: out.width / experts.width, EXPERTS: scales.columns },
  });
}

export function lowerCombineExperts({ x, shares, out }: CombineExpertsOp, to: Lowering): void {
  launchElementwise(to, 'combine_experts', {
    texts: [COMBINE_EXPERTS],
    args: { x: read(x), shares: read(shares) },
    out,
    constants: { CHOSEN: shares.width },
  });
}

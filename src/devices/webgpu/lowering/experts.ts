import { fail } from '../../../base/errors.ts';
import type { CombineResidualIntent } from '../../../device/index.ts';
import {
  type CombineExpertsOp,
  MIN_WEIGHT_SUM,
  type RouteExpertsOp,
  type ScaleExpertsOp,
  type Tensor,
} from '../../../ops/index.ts';
import {
  ALL_GROUPS,
  BEST_GROUPS,
  BEST_PLACE,
  CHOSEN_PLACE,
  combineExpertsText,
  GATES,
  ROUTE_EXPERTS,
  SCALE_EXPERTS,
  SCORES_BIASED,
  SCORES_PLAIN,
} from '../kernels/experts.ts';
import { FUNCTIONS } from '../kernels/library/functions.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { launchElementwise } from './elementwise.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Threads that route a row: a subgroup of most GPUs, whose threads find the best expert without waiting for others. */
const ROUTE_THREADS = 32;

export function lowerRouteExperts(op: RouteExpertsOp, to: Lowering): void {
  const { logits, bias, chosen, expertIds, routingWeights, topK, groups, topKGroups } = op;
  const { workgroupBytes } = to.target;
  const threads = Math.min(to.target.threads, ROUTE_THREADS);
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
      chosen ? CHOSEN_PLACE : BEST_PLACE,
      groups === topKGroups ? ALL_GROUPS : BEST_GROUPS,
      reduceText(to.target, { team: threads, threads }),
    ],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(logits),
      EXPERTS: logits.width,
      TOP_K: topK,
      GROUPS: groups,
      TOP_K_GROUPS: topKGroups,
      NORMALIZED: op.normalized,
      SCALE: { f32: op.scale },
      MIN_WEIGHT_SUM: { f32: MIN_WEIGHT_SUM },
    },
    args: {
      counts: to.counts,
      x: read(logits),
      ...(bias ? { bias: to.vector(bias, FLOAT_LAYOUT) } : {}),
      ...(chosen ? { chosen: read(chosen) } : {}),
      experts: write(expertIds, 'array<i32>'),
      routing_weights: write(routingWeights),
    },
    grid: [to.capacity(logits)],
  });
}

export function lowerScaleExperts({ x, expertIds, scales, out }: ScaleExpertsOp, to: Lowering): void {
  launchElementwise(to, 'scale_experts', {
    texts: [SCALE_EXPERTS],
    args: { x: read(x), experts: read(expertIds, 'array<i32>'), scales: to.vector(scales, FLOAT_LAYOUT) },
    out,
    constants: { EXPERT_WIDTH: out.width / expertIds.width, EXPERTS: scales.columns },
  });
}

export function lowerCombineExperts(op: CombineExpertsOp, to: Lowering): void {
  launchCombine(op, { addend: undefined, y: op.out }, to);
}

/** Sums the choices' results, and adds another tensor. */
export function emitCombineResidual({ op, addend, y }: CombineResidualIntent, to: Lowering): void {
  launchCombine(op, { addend, y }, to);
}

function launchCombine(
  { x, routingWeights }: CombineExpertsOp,
  { addend, y }: { readonly addend: Tensor | undefined; readonly y: Tensor },
  to: Lowering,
): void {
  launchElementwise(to, addend ? 'combine_residual' : 'combine_experts', {
    texts: [combineExpertsText({ addend: addend !== undefined })],
    args: { x: read(x), routing_weights: read(routingWeights), ...(addend ? { addend: read(addend) } : {}) },
    out: y,
    constants: { TOP_K: routingWeights.width },
  });
}

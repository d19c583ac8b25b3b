import { type Cost, rowwiseCost } from '../cost.ts';
import type { Recorder } from '../recorder.ts';
import type { State, Tensor, Weight } from '../value.ts';

/** Functions that make gates of logits. */
export type RoutingGate = 'softmax' | 'sigmoid' | 'sqrt_softplus';

/** How experts are selected. */
export interface RoutingRule {
  /** Experts per row. */
  readonly topK: number;
  /** How logits become gates: softmax over all experts, or the sigmoid of each, or the root of each one's softplus. */
  readonly gate: RoutingGate;
  /** Whether a row's weights are divided by their sum. */
  readonly normalized: boolean;
  /** Factor on the weights. */
  readonly scale: number;
  /** Number of groups of neighbouring experts ... */
  readonly groups: number;
  /** ... of which only this many can be selected from: those with the largest sums of their two best scores. */
  readonly topKGroups: number;
}

/**
 * `gates = gate(logits[r])`; `expertIds[r]` are the indices of the `topK` largest `gates (+ bias)`, in descending
 * order, the lower index first among equals; `routingWeights[r, j] = scale * gates[expertIds[r, j]]`, divided by their
 * sum if `normalized` (Shazeer et al. 2017; DeepSeek-AI 2024, "DeepSeek-V3", section 2.1.2). With `chosen`, these are the
 * experts, in their order, whatever the gates. `uses[expertIds[r, j]]` is one more for each choice.
 */
export interface RouteExpertsOp extends RoutingRule {
  readonly kind: 'routeExperts';
  readonly logits: Tensor;
  readonly bias: Weight | undefined;
  /** f32 [rows, topK]: the indices of experts that were chosen before. */
  readonly chosen: Tensor | undefined;
  /** i32 [1, experts]: how often each was chosen. Default: that is not counted. */
  readonly uses?: State | undefined;
  /** i32 [rows, topK]. */
  readonly expertIds: Tensor;
  /** f32 [rows, topK]. */
  readonly routingWeights: Tensor;
}

/** The experts of each row, and their weights: both [logits.axis, topK]. */
export interface Routes {
  readonly expertIds: Tensor;
  readonly routingWeights: Tensor;
}

/** Selects experts by their logits, f32 [rows, experts]; `bias` affects the selection only, `chosen` replaces it. */
export function routeExperts(
  g: Recorder<RouteExpertsOp>,
  logits: Tensor,
  rule: RoutingRule,
  by: Partial<Pick<RouteExpertsOp, 'bias' | 'chosen' | 'uses'>> = {},
): Routes {
  const { bias, chosen, uses } = by;
  const { topK, groups, topKGroups } = rule;
  const { axis, width } = logits;
  const fits = width % groups === 0 && topKGroups >= 1 && topKGroups <= groups;
  g.require(fits, `${groups} groups divide ${width} experts evenly, of which ${topKGroups} are chosen`);
  const open = (width / groups) * topKGroups;
  g.require(topK >= 1 && topK <= open, `${topK} experts are chosen out of ${open}`);
  g.require(bias === undefined || bias.rows * bias.columns === width, `the bias has ${width} values`);
  const isWhole =
    chosen === undefined || (chosen.width === topK && chosen.type === 'f32' && chosen.axis === axis);
  g.require(isWhole && !(chosen && bias), `${topK} experts are chosen for each row, or by a bias`);
  const expertIds = g.temp('expertIds', { axis, width: topK, type: 'i32' });
  const routingWeights = g.temp('routingWeights', { axis, width: topK });
  g.push({
    kind: 'routeExperts',
    ...rule,
    ...{ logits, bias, chosen, expertIds, routingWeights },
    ...(uses && { uses }),
  });
  return { expertIds, routingWeights };
}

/** Reads the logits once. */
export function routeExpertsCost(op: RouteExpertsOp, rows: number): Cost {
  return rowwiseCost(rows, op.logits.width + 2 * op.topK, (4 + op.topK) * op.logits.width);
}

import { type Cost, rowwiseCost } from '../cost.ts';
import type { Recorder } from '../recorder.ts';
import type { Tensor, Weight } from '../value.ts';

/** How a mixture of experts chooses. */
export interface RoutingRule {
  /** Experts of a row. */
  readonly chosen: number;
  /** What makes gates of logits: softmax over all experts, or the sigmoid of each. */
  readonly gate: 'softmax' | 'sigmoid';
  /** Whether a row's shares are divided by their sum. */
  readonly normalized: boolean;
  /** Factor of the shares. */
  readonly scale: number;
  /** Groups of neighbouring experts ... */
  readonly groups: number;
  /** ... of which only so many may be chosen from, those whose two best scores have the largest sum. */
  readonly chosenGroups: number;
}

/**
 * `gates = gate(logits[r])`; `experts[r]` are the places of the `chosen` largest `gates (+ bias)`, the largest first, of equal
 * ones the lower; `shares[r, j] = scale * gates[experts[r, j]]`, divided by their sum where `normalized`
 * (Shazeer et al. 2017; DeepSeek-AI 2024, "DeepSeek-V3", section 2.1.2).
 */
export interface RouteExpertsOp extends RoutingRule {
  readonly kind: 'routeExperts';
  readonly logits: Tensor;
  readonly bias: Weight | undefined;
  /** i32 [rows, chosen]. */
  readonly experts: Tensor;
  /** f32 [rows, chosen]. */
  readonly shares: Tensor;
}

/** Which experts a row goes to, and with what shares: both [logits.axis, chosen]. */
export interface Routes {
  readonly experts: Tensor;
  readonly shares: Tensor;
}

/** Chooses experts by their logits, f32 [rows, experts]; `bias` counts for the choice alone. */
export function routeExperts(
  g: Recorder<RouteExpertsOp>,
  logits: Tensor,
  rule: RoutingRule,
  bias?: Weight,
): Routes {
  const { chosen, groups, chosenGroups } = rule;
  const { axis, width } = logits;
  const fits = width % groups === 0 && chosenGroups >= 1 && chosenGroups <= groups;
  g.require(fits, `${groups} groups divide ${width} experts evenly, of which ${chosenGroups} are chosen`);
  const open = (width / groups) * chosenGroups;
  g.require(chosen >= 1 && chosen <= open, `${chosen} experts are chosen out of ${open}`);
  g.require(bias === undefined || bias.rows * bias.columns === width, `the bias has ${width} values`);
  const experts = g.temp('experts', { axis, width: chosen, type: 'i32' });
  const shares = g.temp('shares', { axis, width: chosen });
  g.push({ kind: 'routeExperts', ...rule, logits, bias, experts, shares });
  return { experts, shares };
}

/** Reads the logits once. */
export function routeExpertsCost(op: RouteExpertsOp, rows: number): Cost {
  return rowwiseCost(rows, op.logits.width + 2 * op.chosen, (4 + op.chosen) * op.logits.width);
}

import type { RoutingRule } from './route-experts.ts';

/** Minimum sum that routing weights are divided by: ggml's clamp, the smallest normal f16. */
export const MIN_WEIGHT_SUM = 6.103515625e-5;

/** The score of experts that can no longer be selected. */
const OUT = Number.NEGATIVE_INFINITY;

/** The routing of one row: `expertIds` by descending score, the lower index first among equals, and their weights. */
export interface RoutedRow {
  readonly expertIds: Int32Array;
  readonly routingWeights: Float64Array;
}

/**
 * Routes one row as defined by `RouteExpertsOp`, in f64. `bias`, if given, has one value per expert; `chosen` has experts' indices.
 */
export function routeRow(
  logits: ArrayLike<number>,
  {
    bias,
    chosen,
  }: { readonly bias?: ArrayLike<number> | undefined; readonly chosen?: ArrayLike<number> | undefined },
  rule: RoutingRule,
): RoutedRow {
  const { topK, gate, normalized, scale } = rule;
  const gates = GATES[gate](logits);
  const scores = gates.map((value, i) => value + (bias?.[i] ?? 0));
  dropGroups(scores, rule);
  const expertIds = chosen
    ? Int32Array.from(chosen, (id) => inside(id, scores.length))
    : Int32Array.from({ length: topK }, () => takeBest(scores));
  const routingWeights = Float64Array.from(expertIds, (expert) => gates[expert] as number);
  const sum = normalized ? routingWeights.reduce((a, b) => a + b, 0) : 1;
  const factor = scale / (normalized ? Math.max(sum, MIN_WEIGHT_SUM) : 1);
  return { expertIds, routingWeights: routingWeights.map((weight) => weight * factor) };
}

/** Files may name experts that there are none of; no index leaves the gates. */
function inside(id: number, count: number): number {
  return Math.min(count - 1, Math.max(0, id));
}

const GATES: Readonly<Record<RoutingRule['gate'], (logits: ArrayLike<number>) => Float64Array>> = {
  softmax,
  sigmoid: sigmoids,
  sqrt_softplus: (logits) =>
    Float64Array.from(logits, (x) => Math.sqrt(Math.max(0, x) + Math.log1p(Math.exp(-Math.abs(x))))),
};

function sigmoids(logits: ArrayLike<number>): Float64Array {
  return Float64Array.from(logits, (x) => 1 / (1 + Math.exp(-x)));
}

function softmax(logits: ArrayLike<number>): Float64Array {
  const values = Float64Array.from(logits);
  const largest = values.reduce((a, b) => Math.max(a, b), OUT);
  const powers = values.map((x) => Math.exp(x - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** Excludes the experts of all but the best groups, by the sum of each group's two best scores. */
function dropGroups(scores: Float64Array, { groups, topKGroups }: RoutingRule): void {
  if (topKGroups === groups) return;
  const size = scores.length / groups;
  const sums = Float64Array.from({ length: groups }, (_, group) => {
    const [best = OUT, second = 0] = scores.slice(group * size, (group + 1) * size).sort((a, b) => b - a);
    return best + second;
  });
  const kept = new Set(Array.from({ length: topKGroups }, () => takeBest(sums)));
  for (let i = 0; i < scores.length; i++) if (!kept.has(Math.floor(i / size))) scores[i] = OUT;
}

/** The index of the largest score, which is then excluded. */
function takeBest(scores: Float64Array): number {
  let best = 0;
  for (let i = 1; i < scores.length; i++) if ((scores[i] as number) > (scores[best] as number)) best = i;
  scores[best] = OUT;
  return best;
}

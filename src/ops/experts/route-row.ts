import type { RoutingRule } from './route-experts.ts';

/** Minimum sum that routing weights are divided by: ggml's clamp, the smallest normal f16. */
export const MIN_WEIGHT_SUM = 6.103515625e-5;

/** The score of experts that can no longer be selected. */
const OUT = Number.NEGATIVE_INFINITY;

/** What experts are chosen by, besides a row's logits. */
export interface RoutingInputs {
  /** One value per expert. */
  readonly bias?: ArrayLike<number> | undefined;
  /** The indices of `topK` experts, which replace the choice. */
  readonly chosen?: ArrayLike<number> | undefined;
}

/** Routes rows as defined by `RouteExpertsOp`, in f64. Its memory serves one row after another. */
export class RowRouter {
  /** The row's experts by descending score, the lower index first among equals. Changed by the next row. */
  readonly expertIds: Int32Array;
  /** Their weights. Changed by the next row. */
  readonly routingWeights: Float64Array;
  readonly #rule: RoutingRule;
  readonly #gates: Float64Array;
  readonly #scores: Float64Array;
  readonly #groupScores: Float64Array;
  readonly #keepsGroup: Uint8Array;

  constructor(rule: RoutingRule, experts: number) {
    this.#rule = rule;
    this.expertIds = new Int32Array(rule.topK);
    this.routingWeights = new Float64Array(rule.topK);
    this.#gates = new Float64Array(experts);
    this.#scores = new Float64Array(experts);
    this.#groupScores = new Float64Array(rule.groups);
    this.#keepsGroup = new Uint8Array(rule.groups);
  }

  /** Routes one row of logits, f32 [experts]. */
  route(logits: ArrayLike<number>, { bias, chosen }: RoutingInputs = {}): void {
    const gates = this.#gates;
    for (let i = 0; i < gates.length; i++) gates[i] = logits[i] as number;
    GATES[this.#rule.gate](gates);
    if (chosen) this.#take(chosen);
    else this.#choose(bias);
    this.#weigh();
  }

  /** Files may name experts that there are none of; no index leaves the gates. */
  #take(chosen: ArrayLike<number>): void {
    const { expertIds } = this;
    const last = this.#gates.length - 1;
    for (let j = 0; j < expertIds.length; j++) {
      expertIds[j] = Math.min(last, Math.max(0, chosen[j] as number));
    }
  }

  #choose(bias: ArrayLike<number> | undefined): void {
    const { expertIds } = this;
    const scores = this.#scores;
    scores.set(this.#gates);
    if (bias) for (let i = 0; i < scores.length; i++) scores[i] = (scores[i] as number) + (bias[i] as number);
    this.#dropGroups();
    for (let j = 0; j < expertIds.length; j++) expertIds[j] = takeBest(scores);
  }

  /** Excludes the experts of all but the best groups, by the sum of each group's two best scores. */
  #dropGroups(): void {
    const { groups, topKGroups } = this.#rule;
    if (topKGroups === groups) return;
    const scores = this.#scores;
    const sums = this.#groupScores;
    const keeps = this.#keepsGroup.fill(0);
    const size = scores.length / groups;
    for (let group = 0; group < groups; group++) sums[group] = sumOfBestTwo(scores, group * size, size);
    for (let kept = 0; kept < topKGroups; kept++) keeps[takeBest(sums)] = 1;
    for (let i = 0; i < scores.length; i++) if (keeps[Math.floor(i / size)] === 0) scores[i] = OUT;
  }

  #weigh(): void {
    const { expertIds, routingWeights } = this;
    const { normalized, scale } = this.#rule;
    let sum = 0;
    for (let j = 0; j < expertIds.length; j++) {
      const gate = this.#gates[expertIds[j] as number] as number;
      routingWeights[j] = gate;
      sum += gate;
    }
    const factor = scale / (normalized ? Math.max(sum, MIN_WEIGHT_SUM) : 1);
    for (let j = 0; j < routingWeights.length; j++) {
      routingWeights[j] = (routingWeights[j] as number) * factor;
    }
  }
}

/** Makes gates of logits, in place. */
const GATES: Readonly<Record<RoutingRule['gate'], (values: Float64Array) => void>> = {
  softmax,
  sigmoid(values) {
    for (let i = 0; i < values.length; i++) values[i] = 1 / (1 + Math.exp(-(values[i] as number)));
  },
  sqrt_softplus(values) {
    for (let i = 0; i < values.length; i++) {
      const x = values[i] as number;
      values[i] = Math.sqrt(Math.max(0, x) + Math.log1p(Math.exp(-Math.abs(x))));
    }
  },
};

function softmax(values: Float64Array): void {
  let largest = OUT;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, values[i] as number);
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const power = Math.exp((values[i] as number) - largest);
    values[i] = power;
    sum += power;
  }
  for (let i = 0; i < values.length; i++) values[i] = (values[i] as number) / sum;
}

/** The sum of the two largest of `count` scores from `first` on; a single one alone. */
function sumOfBestTwo(scores: Float64Array, first: number, count: number): number {
  if (count === 1) return scores[first] as number;
  let best = OUT;
  let second = OUT;
  for (let i = first; i < first + count; i++) {
    const score = scores[i] as number;
    if (score > best) {
      second = best;
      best = score;
    } else if (score > second) second = score;
  }
  return best + second;
}

/** The index of the largest score, which is then excluded. */
function takeBest(scores: Float64Array): number {
  let best = 0;
  for (let i = 1; i < scores.length; i++) if ((scores[i] as number) > (scores[best] as number)) best = i;
  scores[best] = OUT;
  return best;
}

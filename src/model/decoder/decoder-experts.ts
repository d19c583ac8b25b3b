import { add, gated, unary } from '../../ops/elementwise.ts';
import { combineExperts } from '../../ops/experts/combine-experts.ts';
import { matmulExperts } from '../../ops/experts/matmul-experts.ts';
import { routeExperts } from '../../ops/experts/route-experts.ts';
import { scaleExperts } from '../../ops/experts/scale-experts.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../architecture.ts';
import { linear } from '../blocks.ts';
import type { ConfigReader } from '../model-config.ts';
import type { DecoderConfig, ExpertConfig } from './decoder-config.ts';

type Scope = PartScope<DecoderConfig>;

/** Where llama.cpp's converters note what makes gates of the router's logits. */
const GATE_CODES = { 1: 'softmax', 2: 'sigmoid' } as const;

/** Reads what a file says of its experts; undefined where there are none. Throws `MODEL_CONFIG`. */
export function readExperts(
  read: ConfigReader,
  of: Partial<Pick<ExpertConfig, 'gate' | 'normalized' | 'hidden'>> = {},
): ExpertConfig | undefined {
  const count = read.countOrZero('expert_count');
  if (count === 0) return undefined;
  const chosen = read.count('expert_used_count');
  if (chosen > count) read.refuse('expert_used_count', `${chosen}`, `at most ${count}`);
  const groups = read.countOrZero('expert_group_count') || 1;
  if (count % groups !== 0) read.refuse('expert_group_count', `${groups}`, `a divisor of ${count} experts`);
  // The first files of Qwen's mixtures name the width of all chosen experts together.
  const together = read.countOrZero('feed_forward_length');
  const code = read.real('expert_gating_func', 0);
  const gate = code === 0 ? (of.gate ?? 'softmax') : GATE_CODES[code as keyof typeof GATE_CODES];
  if (gate === undefined) read.refuse('expert_gating_func', `${code}`, '0 to 2: unsaid, softmax or sigmoid');
  return {
    count,
    chosen,
    hidden: of.hidden ?? read.count('expert_feed_forward_length', together / chosen || undefined),
    sharedHidden: read.countOrZero('expert_shared_feed_forward_length'),
    gate,
    normalized: read.flag('expert_weights_norm', of.normalized ?? false),
    scale: read.real('expert_weights_scale', 1, true),
    groups,
    chosenGroups: groups === 1 ? 1 : read.count('expert_group_used_count'),
    leadingDense: read.countOrZero('leading_dense_block_count'),
  };
}

/** The experts that each row of `x` is routed to, and the one that all rows go to: [rows, width]. */
export function recordExperts(scope: Scope, x: Tensor, rule: ExpertConfig): Tensor {
  const { g, config } = scope;
  const { count, hidden } = rule;
  const logits = linear(scope, x, { name: 'ffn_gate_inp', rows: count, scale: 'never' });
  const { experts, shares } = routeExperts(g, logits, rule, scope.optional('exp_probs_b.bias', 1, count));
  const product = (of: Tensor, name: string, outputs: number, columns: number): Tensor => {
    const weight = scope.expertWeight(`${name}.weight`, { count, rows: outputs }, columns);
    const multiplied = matmulExperts(g, of, { experts, weight, outputs });
    const scales = config.expertScales ? scope.optional(`${name}.scale`, 1, count) : undefined;
    return scales ? scaleExperts(g, multiplied, { experts, scales }) : multiplied;
  };
  const gate = product(x, 'ffn_gate_exps', hidden, x.width);
  const up = product(x, 'ffn_up_exps', hidden, x.width);
  const inner = gated(g, config.activation, gate, up);
  const mixed = combineExperts(g, product(inner, 'ffn_down_exps', config.width, hidden), shares);
  return rule.sharedHidden === 0 ? mixed : add(g, mixed, recordShared(scope, x, rule.sharedHidden));
}

/** The expert of all rows; in some families a row has a share of it, too. */
function recordShared(scope: Scope, x: Tensor, hidden: number): Tensor {
  const { g, config } = scope;
  // llama.cpp leaves scales of these weights out, in every family that we share with it.
  const product = (of: Tensor, name: string, rows: number) =>
    linear(scope, of, { name, rows, scale: 'never' });
  const inner = gated(
    g,
    config.activation,
    product(x, 'ffn_gate_shexp', hidden),
    product(x, 'ffn_up_shexp', hidden),
  );
  const whole = product(inner, 'ffn_down_shexp', config.width);
  if (!scope.has('ffn_gate_inp_shexp.weight')) return whole;
  const logit = product(x, 'ffn_gate_inp_shexp', 1);
  return combineExperts(g, whole, unary(g, 'sigmoid', logit));
}

import { invariant } from '../../base/errors.ts';
import { type Activation, add, type GatedFunction, unary } from '../../ops/elementwise.ts';
import { embed } from '../../ops/embed.ts';
import { combineExperts } from '../../ops/experts/combine-experts.ts';
import { matmulExperts } from '../../ops/experts/matmul-experts.ts';
import { type RoutingRule, routeExperts } from '../../ops/experts/route-experts.ts';
import { scaleExperts } from '../../ops/experts/scale-experts.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block } from './block.ts';
import {
  feedForward,
  type FeedForwardBlock,
  type FeedForwardSpec,
  gatedWithin,
  type Situ,
} from './feed-forward.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';

/** A mixture of experts (Shazeer et al. 2017; Dai et al. 2024, "DeepSeekMoE"). */
export interface ExpertsSpec {
  readonly routing: RoutingRule;
  /** The experts of a row by layer, where layers differ; `routing.topK` is then the most of any. */
  readonly used?: ((layer: number) => number) | undefined;
  readonly count: number;
  /** Width of an expert's hidden layer. */
  readonly hidden: number;
  /** Width of the shared expert's hidden layer; 0 if there is none. */
  readonly sharedHidden: number;
  readonly activation: GatedFunction | Situ;
  /** Limits of `gatedWithin` for experts and for the shared one. Default: none. */
  readonly limit?: number;
  readonly sharedLimit?: number;
  /** `gate` if the limit is that of the gate before its activation (Maple). Default: of the activated gate. */
  readonly limited?: 'gate';
  /** `plain` if experts, the shared one among them, have no gate. Default: gated. */
  readonly form?: 'plain';
  /** `input` if the routing weight multiplies the input of the expert, one per row (Llama 4). Default: its result. */
  readonly weighted?: 'input';
  /** `layer` if the router reads what enters the layer (SmallThinker). Default: what the experts read. */
  readonly routed?: 'layer';
  /** Width of the routed experts' input and output, between two shared projections (NVIDIA 2025). Default: the residual stream's. */
  readonly latent?: number | undefined;
  /** Of Kimi K3, whose projections are `ffn_routed_{down,up}`: the norm before the second, `ffn_routed_norm`, if the file has it. */
  readonly latentNorm?: Norm;
  /** Whether each token has its own experts, which `ffn_gate_tid2eid` lists (DeepSeek V4). Default: its router chooses. */
  readonly byToken?: boolean;
  /** Whether `ffn_*_exps.scale` and `ffn_*_shexp.scale` are applied: llama.cpp does so for some architectures only. */
  readonly scales?: boolean;
}

/** The experts that each row is routed to, and the shared expert. */
export type ExpertsBlock = Block<'experts', ExpertsSpec>;

/**
 * Creates the block; its weights are `ffn_gate_inp`, `ffn_{gate,up,down}_exps` (or `ffn_gate_up_exps`, with each
 * expert's gate rows first), with biases if the file has them, `ffn_{gate,up,down}_shexp` and `ffn_latent_{down,up}` or `ffn_routed_{down,norm,up}`.
 */
export function mixtureOfExperts(spec: ExpertsSpec): ExpertsBlock {
  return {
    kind: 'experts',
    spec,
    record: (scope, x, { entering, shared, index }) => {
      const tokenIds = spec.byToken ? shared.get(TOKEN_IDS) : undefined;
      invariant(tokenIds || !spec.byToken, 'the model shares the ids of its tokens');
      const routed = spec.routed === 'layer' ? entering : x;
      return recordExperts(scope, x, inLayer(spec, index), { routed, tokenIds });
    },
  };
}

/** The mixture with the number of experts that a layer uses. */
export function inLayer({ used, ...spec }: ExpertsSpec, layer: number): ExpertsSpec {
  return used ? { ...spec, routing: { ...spec.routing, topK: used(layer) } } : spec;
}

/** A mixture in layers whose file has a router, `ffn_gate_inp`, and a feed-forward in the others (MiMo V2). */
export function expertsWhereRouted(spec: ExpertsSpec, dense: FeedForwardSpec): ExpertsBlock {
  return {
    kind: 'experts',
    spec,
    record: (scope, x, layer) => {
      const block = scope.has('ffn_gate_inp.weight') ? mixtureOfExperts(spec) : feedForward(dense);
      return block.record(scope, x, layer);
    },
  };
}

/** The name under which embeddings share the ids of tokens. */
export const TOKEN_IDS = 'token ids';

/** How llama.cpp's converters encode the gating function of the router. */
const GATE_CODES = { 1: 'softmax', 2: 'sigmoid', 4: 'sqrt_softplus' } as const;

/** What a file says about its experts, which all layers have except the leading dense ones. */
export interface ExpertsMetadata extends Omit<ExpertsSpec, 'activation' | 'scales'> {
  /** Number of leading dense layers. */
  readonly leadingDense: number;
}

/** A family's defaults for what its files leave out. */
interface ExpertsDefaults extends Partial<
  Pick<RoutingRule, 'gate' | 'normalized' | 'topK'> & Pick<ExpertsSpec, 'hidden'>
> {
  /**
   * The settings of the routing that the family's files have, and llama.cpp reads; a file that contradicts the family's own
   * in another one is refused. Default: all.
   */
  readonly settings?: readonly ('gate' | 'normalized' | 'scale')[];
  /** `counted` if the shared expert is as wide as `expert_shared_count` experts. Default: as wide as the file says. */
  readonly shared?: 'counted';
}

/** Reads it; undefined if there are no experts. Throws `MODEL_CONFIG`. */
export function readExperts(read: ConfigReader, of: ExpertsDefaults = {}): ExpertsMetadata | undefined {
  return read.countOrZero('expert_count') === 0 ? undefined : requireExperts(read, of);
}

/** Reads it for a family that always has experts. Throws `MODEL_CONFIG`. */
export function requireExperts(read: ConfigReader, of: ExpertsDefaults = {}): ExpertsMetadata {
  const count = read.count('expert_count');
  const { topK, used } = of.topK === undefined ? readUsed(read) : { topK: of.topK };
  if (topK > count) read.refuse(USED, `${topK}`, `at most ${count}`);
  const groups = read.countOrZero('expert_group_count') || 1;
  if (count % groups !== 0) read.refuse('expert_group_count', `${groups}`, `a divisor of ${count} experts`);
  const code = read.real('expert_gating_func', 0);
  const gate = code === 0 ? (of.gate ?? 'softmax') : GATE_CODES[code as keyof typeof GATE_CODES];
  if (gate === undefined)
    read.refuse(
      'expert_gating_func',
      `${code}`,
      '0, 1, 2 or 4: unsaid, softmax, sigmoid or the root of softplus',
    );
  const routing: RoutingRule = {
    topK,
    gate,
    normalized: read.flag('expert_weights_norm', of.normalized ?? false),
    scale: read.real('expert_weights_scale', 1, true),
    groups,
    topKGroups: groups === 1 ? 1 : read.count('expert_group_used_count'),
  };
  checkSettings(read, routing, of);
  // llama.cpp normalizes over as many as the first layer has.
  if (used && routing.normalized)
    read.refuse(USED, 'other numbers by layer', 'one for all layers, whose weights are normalized');
  const hidden = of.hidden ?? readHidden(read, topK);
  const ownHidden = read.countOrZero('expert_shared_feed_forward_length');
  return {
    routing,
    used,
    count,
    hidden,
    sharedHidden: of.shared === 'counted' ? read.countOrZero('expert_shared_count') * hidden : ownHidden,
    leadingDense: read.countOrZero('leading_dense_block_count'),
  };
}

const USED = 'expert_used_count';

/** The experts of a row, the most of any layer, and by layer where the file has different ones. */
function readUsed(read: ConfigReader): Pick<RoutingRule, 'topK'> & Pick<ExpertsSpec, 'used'> {
  const counts = read.countsOrZero(USED);
  const all = Array.from({ length: read.count('block_count') }, (_, layer) => counts(layer));
  const topK = Math.max(...all);
  if (topK === 0) read.refuse(USED, '0', 'a positive whole number');
  if (all.every((count) => count === topK)) return { topK };
  const used = (layer: number): number =>
    counts(layer) ||
    read.refuse(USED, `0 in layer ${layer}`, 'a positive whole number in a layer with experts');
  return { topK, used };
}

/** Refuses settings other than those that the architecture has whatever its files say. */
function checkSettings(read: ConfigReader, found: RoutingRule, of: ExpertsDefaults): void {
  const own = { gate: of.gate ?? 'softmax', normalized: of.normalized ?? false, scale: 1 };
  const keys = {
    gate: 'expert_gating_func',
    normalized: 'expert_weights_norm',
    scale: 'expert_weights_scale',
  };
  for (const name of ['gate', 'normalized', 'scale'] as const) {
    if (of.settings?.includes(name) !== false || found[name] === own[name]) continue;
    read.refuse(keys[name], `${found[name]}`, `${own[name]}, which ${read.architecture} always has`);
  }
}

/**
 * Width of an expert's hidden layer; the first Qwen files with experts give the total width of all selected experts.
 */
function readHidden(read: ConfigReader, topK: number): number {
  const key = 'expert_feed_forward_length';
  if (read.has(key)) return read.count(key);
  return read.count(key, read.countOrZero('feed_forward_length') / topK || undefined);
}

/**
 * The block after the attention of layer `layer`: experts, or a gated feed-forward of width `hidden` in the leading
 * layers, and in all layers if there are no experts.
 */
export function expertsOrDense(
  experts: ExpertsMetadata | undefined,
  layer: number,
  of: Pick<ExpertsSpec, 'hidden' | 'scales'> & { readonly activation: Activation | Situ },
): ExpertsBlock | FeedForwardBlock {
  if (!experts || layer < experts.leadingDense) return feedForward({ form: 'gated', ...of });
  return mixtureOfExperts({ ...of, ...experts });
}

/** The experts of the rows' tokens. */
function expertsOfTokens(scope: PartScope, { routing: { topK } }: ExpertsSpec, ids: Tensor): Tensor {
  const name = 'ffn_gate_tid2eid.weight';
  return embed(scope.g, scope.weight(name, scope.rowsOf(name, topK), topK), ids);
}

/**
 * Records a mixture on `x`; the router reads `routed`, which is `x` unless given. With `tokenIds`, these determine the experts, and
 * the router their weights.
 */
export function recordExperts(
  scope: PartScope,
  x: Tensor,
  spec: ExpertsSpec,
  { routed = x, tokenIds }: { readonly routed?: Tensor; readonly tokenIds?: Tensor | undefined } = {},
): Tensor {
  const { g } = scope;
  const { routing, count, hidden, activation, sharedHidden, weighted } = spec;
  const logits = linear(scope, routed, { name: 'ffn_gate_inp', rows: count, scale: 'never' });
  const bias = tokenIds
    ? undefined
    : (scope.optional('exp_probs_b.bias', 1, count) ?? scope.optional('exp_probs_b', 1, count));
  const { expertIds, routingWeights } = routeExperts(
    g,
    logits,
    routing,
    tokenIds ? { chosen: expertsOfTokens(scope, spec, tokenIds) } : { bias },
  );
  const latent = (of: Tensor, name: 'down' | 'up', rows: number): Tensor =>
    spec.latent === undefined
      ? of
      : linear(scope, of, { name: `${latentName(spec)}_${name}`, rows, scale: 'never' });
  const narrow = latent(x, 'down', spec.latent ?? x.width);
  const product = (of: Tensor, name: string, outputs: number, columns: number): Tensor => {
    const weight = scope.expertWeight(`${name}.weight`, { count, rows: outputs }, columns);
    const expertBias = scope.optional(`${name}.bias`, count, outputs);
    const multiplied = matmulExperts(g, of, { expertIds, weight, outputs, bias: expertBias });
    const scales = spec.scales ? scope.optional(`${name}.scale`, 1, count) : undefined;
    return scales ? scaleExperts(g, multiplied, { expertIds, scales }) : multiplied;
  };
  const read = weighted === 'input' ? combineExperts(g, narrow, routingWeights) : narrow;
  const open = (gate: Tensor, up: Tensor): Tensor =>
    gatedWithin(g, { fn: activation, limit: spec.limit, limited: spec.limited }, gate, up);
  const hiddenLayer = (): Tensor => {
    if (spec.form === 'plain') {
      return unary(g, ungated(activation), product(read, 'ffn_up_exps', hidden, read.width));
    }
    if (!scope.has('ffn_gate_up_exps.weight')) {
      const gate = product(read, 'ffn_gate_exps', hidden, read.width);
      return open(gate, product(read, 'ffn_up_exps', hidden, read.width));
    }
    const both = product(read, 'ffn_gate_up_exps', 2 * hidden, read.width);
    const half = (offset: number): Tensor =>
      slice(g, both, { offset, segmentWidth: hidden, stride: 2 * hidden, width: routing.topK * hidden });
    return open(half(0), half(hidden));
  };
  const inner = hiddenLayer();
  const results = product(inner, 'ffn_down_exps', read.width, hidden);
  const combined = weighted === 'input' ? results : combineExperts(g, results, routingWeights);
  const mixed = latent(normalizeLatent(scope, combined, spec), 'up', x.width);
  return sharedHidden === 0 ? mixed : add(g, mixed, recordShared(scope, x, spec));
}

/** The name of the projections to the latent that experts read and back. */
function latentName({ latentNorm }: ExpertsSpec): string {
  return latentNorm ? 'ffn_routed' : 'ffn_latent';
}

function normalizeLatent(scope: PartScope, x: Tensor, { latentNorm }: ExpertsSpec): Tensor {
  const name = 'ffn_routed_norm';
  return latentNorm && scope.has(`${name}.weight`) ? normalize(scope, x, { ...latentNorm, name }) : x;
}

/** The shared expert, which some families gate per row. */
function recordShared(
  scope: PartScope,
  x: Tensor,
  { sharedHidden: hidden, activation, form, scales, sharedLimit: limit, limited }: ExpertsSpec,
): Tensor {
  const { g } = scope;
  const order = scales ? 'after' : 'never';
  const product = (of: Tensor, name: string, rows: number) => linear(scope, of, { name, rows, scale: order });
  const hiddenLayer = (): Tensor => {
    if (form === 'plain') return unary(g, ungated(activation), product(x, 'ffn_up_shexp', hidden));
    const gate = product(x, 'ffn_gate_shexp', hidden);
    return gatedWithin(g, { fn: activation, limit, limited }, gate, product(x, 'ffn_up_shexp', hidden));
  };
  const inner = hiddenLayer();
  const whole = product(inner, 'ffn_down_shexp', x.width);
  if (!scope.has('ffn_gate_inp_shexp.weight')) return whole;
  const logit = linear(scope, x, { name: 'ffn_gate_inp_shexp', rows: 1, scale: 'never' });
  return combineExperts(g, whole, unary(g, 'sigmoid', logit));
}

function ungated(activation: GatedFunction | Situ): Activation {
  invariant(
    typeof activation === 'string' && activation !== 'swiglu_oai',
    'a function of gate and up has a gate',
  );
  return activation;
}

import { add, gated, scale, unary } from '../../ops/elementwise.ts';
import { embed } from '../../ops/embed.ts';
import { ropeTable } from '../../ops/rope.ts';
import { gatherRows } from '../../ops/rows.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import type { Architecture, LayerInputs, PartScope } from '../architecture.ts';
import { linear, scaledProduct } from '../blocks.ts';
import { recordAttention } from './decoder-attention.ts';
import { recordExperts } from './decoder-experts.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { normalize } from './normalize.ts';

type Scope = PartScope<DecoderConfig>;

/** The forward pass that the families of decoders share; in what they differ their `DecoderConfig` says. */
export const decoder: Pick<Architecture<DecoderConfig>, 'recordEmbedding' | 'recordLayer' | 'recordHead'> = {
  recordEmbedding,
  recordLayer,
  recordHead,
};

function recordEmbedding(scope: Scope, ids: Tensor) {
  const { g, config } = scope;
  const { embeddingScale } = config;
  const embedded = scope.embed(ids);
  const scaled = embeddingScale === 1 ? embedded : scale(g, embedded, embeddingScale);
  if (config.positions === 'learned') return { x: addPositions(scope, scaled), shared: new Map() };
  const shared = new Map([['turns', ropeTable(g, config.rope, ropeFactors(scope))]]);
  if (config.windowRope) shared.set('window turns', ropeTable(g, config.windowRope));
  return { x: scaled, shared };
}

function addPositions(scope: Scope, x: Tensor): Tensor {
  const { g, config } = scope;
  const table = scope.weight('position_embd.weight', config.trainedContext, config.width);
  return add(g, x, embed(g, table, g.batch.positions));
}

/** Llama 3.1 has factors for all contexts, Phi-3 has two sets. */
function ropeFactors(scope: Scope): Weight | undefined {
  const { config } = scope;
  const count = config.rope.dimensions / 2;
  const reach = scope.context > config.originalContext ? 'long' : 'short';
  return (
    scope.optional('rope_freqs.weight', 1, count) ?? scope.optional(`rope_factors_${reach}.weight`, 1, count)
  );
}

function recordLayer(scope: Scope, inputs: LayerInputs): Tensor {
  const { g } = scope;
  const read = before(scope, inputs.x, 'attn_norm');
  const mixed = after(scope, recordAttention(scope, read, inputs), 'post_attention_norm');
  const attended = add(g, inputs.x, mixed);
  const { experts, feedForwardNorm } = scope.config;
  const inner = before(scope, attended, feedForwardNorm);
  const mixture = experts && inputs.index >= experts.leadingDense;
  const fed = mixture ? recordExperts(scope, inner, experts) : recordFeedForward(scope, inner);
  return add(g, attended, after(scope, fed, 'post_ffw_norm'));
}

function before(scope: Scope, x: Tensor, name: string): Tensor {
  return scope.config.normsBefore ? normalize(scope, x, { name }) : x;
}

function after(scope: Scope, x: Tensor, name: string): Tensor {
  return scope.config.normsAfter ? normalize(scope, x, { name }) : x;
}

function recordFeedForward(scope: Scope, x: Tensor): Tensor {
  const { g } = scope;
  const { width, hidden, activation, feedForward } = scope.config;
  const scaled = scope.config.feedForwardScales ? 'after' : 'never';
  const product = (of: Tensor, name: string, rows: number) =>
    linear(scope, of, { name, rows, scale: scaled });
  const hiddenLayer = (): Tensor => {
    switch (feedForward) {
      case 'plain':
        return unary(g, activation, product(x, 'ffn_up', hidden));
      case 'gated': {
        const gate = product(x, 'ffn_gate', hidden);
        return gated(g, activation, gate, product(x, 'ffn_up', hidden));
      }
      case 'fused': {
        const both = product(x, 'ffn_up', 2 * hidden);
        const gate = slice(g, both, { first: 0, width: hidden });
        return gated(g, activation, gate, slice(g, both, { first: hidden, width: hidden }));
      }
    }
  };
  return product(hiddenLayer(), 'ffn_down', width);
}

function recordHead(scope: Scope, x: Tensor): Tensor {
  const { g, config } = scope;
  const rows = scope.rowsOf('token_embd.weight', config.width);
  const normed = normalize(scope, gatherRows(g, x), { name: 'output_norm' });
  // Models with tied embeddings have no output matrix of their own.
  const name = scope.has('output.weight') ? 'output.weight' : 'token_embd.weight';
  const bias = scope.optional('output.bias', 1, rows);
  const scale = scope.optional('output.scale', 1, 1);
  const logits = scaledProduct(g, normed, { weight: scope.weight(name, rows, config.width), bias, scale });
  return config.logitSoftCap === undefined ? logits : capped(scope, logits, config.logitSoftCap);
}

function capped({ g }: Scope, x: Tensor, cap: number): Tensor {
  return scale(g, unary(g, 'tanh', scale(g, x, 1 / cap)), cap);
}

import { attention, kvAppend } from '../../ops/attention.ts';
import { add, gated, unary } from '../../ops/elementwise.ts';
import { embed } from '../../ops/embed.ts';
import { layerNorm } from '../../ops/norm.ts';
import { type RopeParameters, rope, ropeTable } from '../../ops/rope.ts';
import { gatherRows } from '../../ops/rows.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { Architecture, LayerInputs, PartScope } from '../architecture.ts';
import { linear } from '../blocks.ts';
import type { ModelConfig, Pooling } from '../model-config.ts';

/** Sizes of an encoder. Widths count elements. */
export interface BertConfig extends ModelConfig {
  readonly heads: number;
  readonly hidden: number;
  readonly normEpsilon: number;
  /** Turns of queries and keys; undefined where a vector is added to each embedding. */
  readonly rope: RopeParameters | undefined;
  readonly pooling: Pooling;
}

type Scope = PartScope<BertConfig>;

/** `pooling_type` as llama.cpp's converters write it. */
const POOLINGS: Readonly<Record<number, Pooling>> = { 0: 'none', 1: 'mean', 2: 'first', 3: 'last' };

/**
 * BERT (Devlin et al. 2018) and Nomic's (Nussbaum et al. 2024), which turns positions and gates its feed-forward: each row sees
 * the whole text, norms stand behind the residual additions, and the last layer's rows are the result.
 */
export const bert: Architecture<BertConfig> = {
  names: ['bert', 'nomic-bert'],
  configure(read) {
    const { architecture } = read;
    const [width, heads] = [read.count('embedding_length'), read.count('attention.head_count')];
    const trainedContext = read.count('context_length');
    const type = read.real('pooling_type', 0);
    const pooling = POOLINGS[type];
    if (pooling === undefined)
      return read.refuse('pooling_type', String(type), '0 to 3: none, mean, first or last');
    return {
      architecture,
      memory: 'paged',
      layers: read.count('block_count'),
      width,
      heads,
      hidden: read.count('feed_forward_length'),
      trainedContext,
      normEpsilon: read.real('attention.layer_norm_epsilon'),
      rope: architecture === 'bert' ? undefined : read.rope(width / heads, trainedContext),
      pooling,
    };
  },
  recordEmbedding,
  recordLayer,
  recordHead: (scope, x) => gatherRows(scope.g, x),
};

function normalize(scope: Scope, x: Tensor, name: string): Tensor {
  const weight = scope.weight(`${name}.weight`, 1, x.width);
  const bias = scope.weight(`${name}.bias`, 1, x.width);
  return layerNorm(scope.g, x, { weight, bias, epsilon: scope.config.normEpsilon });
}

function recordEmbedding(scope: Scope, ids: Tensor) {
  const { g, config } = scope;
  const { width } = config;
  const table = (name: string, rows = scope.rowsOf(`${name}.weight`, width)) =>
    scope.weight(`${name}.weight`, rows, width);
  let x = scope.embed(ids);
  if (scope.has('token_types.weight')) {
    const types = g.input('types', { axis: 'rows', width: 1, type: 'i32' });
    x = add(g, x, embed(g, table('token_types'), types));
  }
  const shared = new Map<string, Tensor>();
  if (config.rope) shared.set('turns', ropeTable(g, config.rope));
  else x = add(g, x, embed(g, table('position_embd', config.trainedContext), g.batch.positions));
  return { x: normalize(scope, x, 'token_embd_norm'), shared };
}

function recordLayer(scope: Scope, inputs: LayerInputs): Tensor {
  const { g } = scope;
  const attended = add(g, inputs.x, recordAttention(scope, inputs));
  const x = normalize(scope, attended, 'attn_output_norm');
  return normalize(scope, add(g, x, recordFeedForward(scope, x)), 'layer_output_norm');
}

function recordAttention(scope: Scope, { x, shared, states }: LayerInputs): Tensor {
  const { g, config } = scope;
  const { width, heads } = config;
  const headSize = width / heads;
  const table = shared.get('turns');
  const turn = (of: Tensor) => (table ? rope(g, of, { table, headSize, pairs: 'halves' }) : of);
  const [q, k, v] = recordProjections(scope, x);
  const cache = states.pagedCache({ kvHeads: heads, keySize: headSize, valueSize: headSize });
  kvAppend(g, cache, turn(k), v);
  const mixed = attention(g, turn(q), cache, {
    heads,
    kvHeads: heads,
    keySize: headSize,
    valueSize: headSize,
    scale: 1 / Math.sqrt(headSize),
    window: undefined,
    softCap: undefined,
    reach: g.input('reach', { axis: 'rows', width: 1, type: 'i32' }),
  });
  return linear(scope, mixed, { name: 'attn_output', rows: width });
}

/** Queries, keys and values, from three matrices or from one. */
function recordProjections(scope: Scope, x: Tensor): [q: Tensor, k: Tensor, v: Tensor] {
  const { width } = scope.config;
  if (!scope.has('attn_qkv.weight')) {
    const product = (name: string) => linear(scope, x, { name, rows: width });
    return [product('attn_q'), product('attn_k'), product('attn_v')];
  }
  const all = linear(scope, x, { name: 'attn_qkv', rows: 3 * width });
  const part = (index: number) => slice(scope.g, all, { first: index * width, width });
  return [part(0), part(1), part(2)];
}

function recordFeedForward(scope: Scope, x: Tensor): Tensor {
  const { g, config } = scope;
  // llama.cpp leaves scales of these weights out.
  const product = (of: Tensor, name: string, rows: number) =>
    linear(scope, of, { name, rows, scale: 'never' });
  const up = product(x, 'ffn_up', config.hidden);
  const inner = config.rope
    ? gated(g, 'silu', product(x, 'ffn_gate', config.hidden), up)
    : unary(g, 'gelu_tanh', up);
  return product(inner, 'ffn_down', config.width);
}

import type { AttentionParameters } from '../../ops/attention.ts';
import { add, clamp, gated, mul, unary } from '../../ops/elementwise.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import { rope, type RopePairs } from '../../ops/rope.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { cacheGroup } from '../state-groups.ts';
import { type BlockIndexerSpec, recordBlockIndexer } from './indexer.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';
import { appendRotated, attendRotated } from './rotated-cache.ts';

/** The heads of a layer; sizes count elements. */
export type Heads = Pick<AttentionParameters, 'heads' | 'kvHeads' | 'keySize' | 'valueSize'>;

/** Grouped-query attention (Ainslie et al. 2023) of one layer: the operator's parameters, and what surrounds it. */
export interface AttentionSpec extends Omit<AttentionParameters, 'sinks'> {
  /** The stack's rotary table for queries and keys, and which values form a pair. Default: no RoPE. */
  readonly rope?: { readonly table: string; readonly pairs: RopePairs };
  /** Norm of queries and keys, per head or over all heads of a row; in some files only in some layers. */
  readonly queryNorm?: {
    readonly norm: Norm;
    readonly of: 'head' | 'row';
    readonly missing?: 'allowed';
    /** `none` if the norm has no learned factors (Llama 4). */
    readonly factors?: 'none';
    /** Default: before RoPE. */
    readonly place?: 'after rotation';
  };
  /** RMS norm of each head of values, without learned factors (Gemma 4). */
  readonly valueNorm?: Norm;
  /** Whether keys, before their norm and RoPE, are the values of layers whose file has no `attn_v` (Gemma 4). */
  readonly keysAsValues?: true;
  /** The earlier layer whose keys and values the layer attends to, instead of its own (Gemma 4's E models). */
  readonly cacheOf?: number | undefined;
  /** Whether each head has a learned sink score, `attn_sinks`, in the softmax (gpt-oss): always, or if the file has it. */
  readonly hasSinks?: 'always' | 'if there';
  /**
   * Source of a gate whose sigmoid multiplies attention's result (Qiu et al. 2025, "Gated attention for large language
   * models"): a separate product, `attn_gate`; the same with one value per head, if the file has it (`attn_gate by head`,
   * Step 3.5); or additional rows of `attn_q` after each head's query. Laguna's gate is a softplus of a product with one value
   * per head or per element. Default: no gate.
   */
  readonly outputGate?: 'attn_gate' | 'attn_gate by head' | 'attn_gate with softplus' | 'attn_q';
  /** The width of its result, if it is not that of the rows it reads (EAGLE-3). */
  readonly width?: number;
  /** Norm of the result, `attn_sub_norm`, before the last product (BitNet). */
  readonly resultNorm?: Norm;
  /** Bound of the elements of queries, keys and values and of their negatives (MPT, DBRX). Default: none. */
  readonly clamp?: number | undefined;
  /** What chooses the blocks of positions that each key head attends to. Default: rows attend to all positions. */
  readonly indexer?: BlockIndexerSpec;
  /** True for encoders, in which each row attends to the whole text. */
  readonly bidirectional?: boolean;
}

/** Attention over the layer's KV cache. */
export type AttentionBlock = Block<'attention', AttentionSpec>;

/**
 * Creates the block; its weights are `attn_q`, `attn_k`, `attn_v` (or `attn_qkv`), `attn_output` and, if used,
 * `attn_sinks` and `attn_gate`.
 */
export function attention(spec: AttentionSpec): AttentionBlock {
  return {
    kind: 'attention',
    spec,
    state: cacheGroup(spec.window ?? spec.chunk),
    record: (scope, x, layer) => recordAttention(scope, x, spec, layer),
  };
}

function recordAttention(scope: PartScope, x: Tensor, spec: AttentionSpec, layer: LayerInputs): Tensor {
  const { g } = scope;
  const {
    rope: rotation,
    queryNorm,
    valueNorm,
    hasSinks,
    outputGate,
    bidirectional,
    cacheOf,
    width = x.width,
    resultNorm,
    clamp: _,
    indexer,
    ...parameters
  } = spec;
  const { heads, kvHeads, keySize, valueSize, chunk, window = chunk } = parameters;
  const table = rotation && layer.shared.get(rotation.table);
  const [queries, own] = recordProjections(scope, x, spec);
  const half = (offset: number): Tensor =>
    slice(g, queries, { offset, segmentWidth: keySize, stride: 2 * keySize, width: heads * keySize });
  const q = outputGate === 'attn_q' ? half(0) : queries;
  const rotate = (of: Tensor, headSize = keySize): Tensor =>
    rotation && table ? rope(g, of, { table, headSize, pairs: rotation.pairs }) : of;
  const normed = (of: Tensor, name: string): Tensor =>
    queryNorm ? normalizeHeads(scope, of, name, { ...queryNorm, keySize }) : of;
  const place = (of: Tensor, name: string): Tensor =>
    queryNorm?.place === 'after rotation' ? normed(rotate(of), name) : rotate(normed(of, name));
  const query = place(q, 'attn_q_norm');
  const cache = layer.states.pagedCache({ kvHeads, keySize, valueSize, window, ofLayer: cacheOf });
  if (own) {
    const v = valueNorm
      ? l2Norm(g, own.values, { by: 'rms', size: valueSize, epsilon: valueNorm.epsilon })
      : own.values;
    appendRotated(g, cache, parameters, { k: place(own.keys, 'attn_k_norm'), v });
  }
  const chosen = indexer && recordBlockIndexer(scope, x, { spec: indexer, kvHeads, rotate }, layer);
  const mixed = attendRotated(g, query, cache, {
    ...parameters,
    chosen,
    sinks: hasSinks && sinksOf(scope, hasSinks, heads),
    ...(bidirectional && { causalLimit: g.input('causal_limits', { axis: 'rows', width: 1, type: 'i32' }) }),
  });
  const opened = openGate(scope, x, { mixed, spec, half });
  const scaled = resultNorm ? normalize(scope, opened, { ...resultNorm, name: 'attn_sub_norm' }) : opened;
  return linear(scope, scaled, { name: 'attn_output', rows: width });
}

/** Attention's result, multiplied by its gate if there is one; `half` is a part of what `attn_q` gives. */
function openGate(
  scope: PartScope,
  x: Tensor,
  { mixed, spec, half }: { mixed: Tensor; spec: AttentionSpec; half: (offset: number) => Tensor },
): Tensor {
  const { g } = scope;
  const { outputGate, heads, keySize } = spec;
  const product = (rows: number): Tensor => linear(scope, x, { name: 'attn_gate', rows, scale: 'never' });
  if (outputGate === 'attn_q') return gated(g, 'sigmoid', half(keySize), mixed);
  if (outputGate === 'attn_gate') return gated(g, 'sigmoid', product(mixed.width), mixed);
  if (outputGate === 'attn_gate with softplus') {
    const isWhole = scope.rowsOf('attn_gate.weight', x.width) === mixed.width;
    return mul(g, mixed, unary(g, 'softplus', product(isWhole ? mixed.width : heads)));
  }
  const isGated = outputGate === 'attn_gate by head' && scope.has('attn_gate.weight');
  return isGated ? mul(g, mixed, unary(g, 'sigmoid', product(heads))) : mixed;
}

/**
 * Queries, keys and values, from three matrices or from `attn_qkv`, which stacks their rows. With `attn_qkv`, files
 * have either one bias for it or one for each of the three. Layers that attend to another's cache have queries alone.
 */
function recordProjections(
  scope: PartScope,
  x: Tensor,
  spec: AttentionSpec,
): [queries: Tensor, own?: { readonly keys: Tensor; readonly values: Tensor }] {
  const { heads, kvHeads, keySize, valueSize, outputGate, clamp: bound } = spec;
  const bounded = (of: Tensor): Tensor => (bound ? clamp(scope.g, of, -bound, bound) : of);
  const queries = (outputGate === 'attn_q' ? 2 : 1) * heads * keySize;
  const [keys, values] = [kvHeads * keySize, kvHeads * valueSize];
  if (!scope.has('attn_qkv.weight')) {
    const part = (name: string, rows: number) => bounded(linear(scope, x, { name, rows }));
    const query = part('attn_q', queries);
    if (spec.cacheOf !== undefined) return [query];
    const key = part('attn_k', keys);
    const isShared = spec.keysAsValues && !scope.has('attn_v.weight');
    return [query, { keys: key, values: isShared ? key : part('attn_v', values) }];
  }
  const all = linear(scope, x, { name: 'attn_qkv', rows: queries + keys + values });
  const biases = ['attn_q.bias', 'attn_k.bias', 'attn_v.bias'];
  const isApart = !scope.has('attn_qkv.bias') && biases.every((name) => scope.has(name));
  const part = (bias: string, first: number, width: number) => {
    const cut = slice(scope.g, all, { offset: first, width });
    const added = isApart ? scope.optional(bias, 1, width) : undefined;
    return bounded(added ? add(scope.g, cut, added) : cut);
  };
  const query = part('attn_q.bias', 0, queries);
  if (spec.cacheOf !== undefined) return [query];
  return [
    query,
    {
      keys: part('attn_k.bias', queries, keys),
      values: part('attn_v.bias', queries + keys, values),
    },
  ];
}

function sinksOf(scope: PartScope, when: 'always' | 'if there', heads: number): Weight | undefined {
  const name = 'attn_sinks.weight';
  return when === 'always' ? scope.weight(name, 1, heads) : scope.optional(name, 1, heads);
}

function normalizeHeads(
  scope: PartScope,
  x: Tensor,
  name: string,
  { norm, of, missing, factors, keySize }: NonNullable<AttentionSpec['queryNorm']> & Pick<Heads, 'keySize'>,
): Tensor {
  if (missing === 'allowed' && !scope.has(`${name}.weight`)) return x;
  const size = of === 'row' ? x.width : keySize;
  if (factors === 'none') return l2Norm(scope.g, x, { by: 'rms', size, epsilon: norm.epsilon });
  return normalize(scope, x, { ...norm, name }, size);
}

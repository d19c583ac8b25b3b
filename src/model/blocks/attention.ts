import type { AttentionParameters } from '../../ops/attention.ts';
import { add, clamp, gated, mul, unary } from '../../ops/elementwise.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import { rmsNorm } from '../../ops/norm.ts';
import { rope, type RopePairs } from '../../ops/rope.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { PagedCache } from '../../ops/paged-cache.ts';
import type { Block, LayerContext, LayerInputs } from './block.ts';
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
  /**
   * Norm of queries and keys, per head, with a weight of its own for each head (PLaMo 2) or not, or over all heads of a row; in some
   * files only in some layers.
   */
  readonly queryNorm?: {
    readonly norm: Norm;
    readonly of: 'head' | 'each head' | 'row';
    readonly missing?: 'allowed';
    /** `none` if the norm has no learned factors (Llama 4); `by query head`: one for each head of queries alone (Talkie). */
    readonly factors?: 'none' | 'by query head';
    /** Default: before RoPE. */
    readonly place?: 'after rotation';
  };
  /** RMS norm of each head of values, without learned factors (Gemma 4). */
  readonly valueNorm?: Norm;
  /** Whether keys, before their norm and RoPE, are the values of layers whose file has no `attn_v` (Gemma 4). */
  readonly keysAsValues?: true;
  /** The earlier layer whose keys and values the layer attends to, instead of its own (Gemma 4's E models). */
  readonly cacheOf?: number | undefined;
  /** Whether rows attend as the next position's would, whose own keys are not there yet (Gemma 4's assistants). */
  readonly isAhead?: true;
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
  /**
   * Whether rows attend to later ones, too, up to the batch's `causal_limits`: the end of the text in encoders, of the
   * block in drafters (DFlash). A window then is as wide on either side of a row.
   */
  readonly bidirectional?: boolean;
}

/** The name of the norm of queries. */
const QUERY_NORM = 'attn_q_norm';

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
    rope: _rope,
    queryNorm: _queryNorm,
    valueNorm: _valueNorm,
    hasSinks,
    outputGate,
    bidirectional,
    cacheOf,
    isAhead,
    width = x.width,
    resultNorm,
    clamp: _,
    indexer,
    ...parameters
  } = spec;
  const { heads, kvHeads, keySize, valueSize, chunk, window = chunk } = parameters;
  const [queries, own] = recordProjections(scope, x, spec);
  const half = (offset: number): Tensor =>
    slice(g, queries, { offset, segmentWidth: keySize, stride: 2 * keySize, width: heads * keySize });
  const q = outputGate === 'attn_q' ? half(0) : queries;
  const { rotate, place } = placing(scope, spec, layer);
  const query = place(q, QUERY_NORM);
  const cache = layer.states.pagedCache({ kvHeads, keySize, valueSize, window, ofLayer: cacheOf });
  if (own) appendOwn(scope, own, spec, { cache, place });
  const chosen = indexer && recordBlockIndexer(scope, x, { spec: indexer, kvHeads, rotate }, layer);
  const mixed = attendRotated(g, query, cache, {
    ...parameters,
    ...(isAhead && window !== undefined && { window: window - 1 }),
    chosen,
    sinks: hasSinks && sinksOf(scope, hasSinks, heads),
    ...(bidirectional && {
      causalLimit: g.input('causal_limits', { axis: 'rows', width: 1, type: 'i32' }),
      ...(window !== undefined && { window: undefined, reach: window - 1 }),
    }),
  });
  const opened = openGate(scope, x, { mixed, spec, half });
  const scaled = resultNorm ? normalize(scope, opened, { ...resultNorm, name: 'attn_sub_norm' }) : opened;
  return linear(scope, scaled, { name: 'attn_output', rows: width });
}

/** Keys and values of some rows, f32 [rows, kvHeads * size] each. */
interface KeysAndValues {
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** Gives queries and keys their norm and rotation. */
function placing(
  scope: PartScope,
  { rope: rotation, queryNorm, keySize }: AttentionSpec,
  { shared }: Pick<LayerInputs, 'shared'>,
) {
  const table = rotation && shared.get(rotation.table);
  const rotate = (of: Tensor, headSize = keySize): Tensor =>
    rotation && table ? rope(scope.g, of, { table, headSize, pairs: rotation.pairs }) : of;
  const normed = (of: Tensor, name: string): Tensor =>
    queryNorm ? normalizeHeads(scope, of, name, { ...queryNorm, keySize }) : of;
  const place = (of: Tensor, name: string): Tensor =>
    queryNorm?.place === 'after rotation' ? normed(rotate(of), name) : rotate(normed(of, name));
  return { rotate, place };
}

/** Appends a layer's own keys and values to its cache. */
function appendOwn(
  { g }: PartScope,
  { keys, values }: KeysAndValues,
  { valueNorm, ...sizes }: AttentionSpec,
  { cache, place }: { cache: PagedCache; place: ReturnType<typeof placing>['place'] },
): void {
  const { valueSize: size } = sizes;
  const v = valueNorm ? l2Norm(g, values, { by: 'rms', size, epsilon: valueNorm.epsilon }) : values;
  appendRotated(g, cache, sizes, { k: place(keys, 'attn_k_norm'), v });
}

/** Records the keys and values of rows `x` that do not attend themselves, but are attended to (DFlash). */
export function recordCachedRows(
  scope: PartScope,
  x: Tensor,
  spec: AttentionSpec,
  layer: LayerContext,
): void {
  const { kvHeads, keySize, valueSize, window } = spec;
  const cache = layer.states.pagedCache({ kvHeads, keySize, valueSize, window });
  const { place } = placing(scope, spec, layer);
  appendOwn(scope, recordKeysAndValues(scope, x, spec), spec, { cache, place });
}

/** Keys and values by `attn_k` and `attn_v`, or by `attn_k` alone. */
function recordKeysAndValues(
  scope: PartScope,
  x: Tensor,
  { kvHeads, keySize, valueSize, keysAsValues, clamp: bound }: AttentionSpec,
): KeysAndValues {
  const part = (name: string, rows: number) => bounded(scope, linear(scope, x, { name, rows }), bound);
  const keys = part('attn_k', kvHeads * keySize);
  const isShared = keysAsValues && !scope.has('attn_v.weight');
  return { keys, values: isShared ? keys : part('attn_v', kvHeads * valueSize) };
}

function bounded({ g }: PartScope, of: Tensor, bound: number | undefined): Tensor {
  return bound ? clamp(g, of, -bound, bound) : of;
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
): [queries: Tensor, own?: KeysAndValues] {
  const { heads, kvHeads, keySize, valueSize, outputGate, clamp: bound } = spec;
  const queries = (outputGate === 'attn_q' ? 2 : 1) * heads * keySize;
  const [keys, values] = [kvHeads * keySize, kvHeads * valueSize];
  if (!scope.has('attn_qkv.weight')) {
    const query = bounded(scope, linear(scope, x, { name: 'attn_q', rows: queries }), bound);
    return spec.cacheOf === undefined ? [query, recordKeysAndValues(scope, x, spec)] : [query];
  }
  const all = linear(scope, x, { name: 'attn_qkv', rows: queries + keys + values });
  const biases = ['attn_q.bias', 'attn_k.bias', 'attn_v.bias'];
  const isApart = !scope.has('attn_qkv.bias') && biases.every((name) => scope.has(name));
  const part = (bias: string, first: number, width: number) => {
    const cut = slice(scope.g, all, { offset: first, width });
    const added = isApart ? scope.optional(bias, 1, width) : undefined;
    return bounded(scope, added ? add(scope.g, cut, added) : cut, bound);
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
  if (factors !== undefined) {
    const normed = l2Norm(scope.g, x, { by: 'rms', size, epsilon: norm.epsilon });
    if (factors === 'none' || name !== QUERY_NORM) return normed;
    return mul(scope.g, normed, scope.column(`${name}.weight`, x.width / size));
  }
  if (of === 'each head')
    return rmsNorm(scope.g, x, scope.weight(`${name}.weight`, x.width / size, size), norm.epsilon);
  return normalize(scope, x, { ...norm, name }, size);
}

import { invariant } from '../../base/errors.ts';
import type { ScoreParameters } from '../../ops/attention.ts';
import type { ChosenPositions } from '../../ops/choose-positions.ts';
import { concat } from '../../ops/concat.ts';
import { gated, mul, unary } from '../../ops/elementwise.ts';
import { matmulHeads } from '../../ops/matmul-heads.ts';
import { rope, type RopePairs } from '../../ops/rope.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import { cacheGroup } from '../state-groups.ts';
import type { Heads } from './attention.ts';
import type { Block, LayerInputs } from './block.ts';
import { chosenEarlier, type IndexerSpec, recordIndexer } from './indexer.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';
import { appendRotated, attendRotated } from './rotated-cache.ts';

/**
 * Multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2"): the keys and values of all heads are projected from
 * one short vector per position, the latent, except for a rotated part of the keys, which all heads share. Sizes count
 * elements.
 */
export interface LatentAttentionSpec extends Omit<ScoreParameters, 'sinks' | 'softCap' | 'window'> {
  readonly heads: number;
  /** Size of the part of a query or key head that is not rotated, which precedes the rotated part. */
  readonly plainSize: number;
  readonly rotatedSize: number;
  /** Size of a value head. */
  readonly valueSize: number;
  /** Size of the latent from which keys and values are projected. */
  readonly latentSize: number;
  /** Size of the latent from which queries are projected; undefined if they are projected from the row itself. */
  readonly queryLatentSize: number | undefined;
  /** Norm of both latents. */
  readonly norm: Norm;
  /** The stack's rotary table. Default: the part that is called rotated is not (Kimi Linear). */
  readonly rope?: { readonly table: string; readonly pairs: RopePairs };
  /**
   * `absorbed`: the cache holds latents; queries are multiplied by the key projection (`attn_k_b`), and the attended
   * latents by the value projection (`attn_v_b`). `expanded`: the cache holds the keys and values of all heads, which
   * files project with one matrix, `attn_kv_b`.
   */
  readonly form: 'absorbed' | 'expanded';
  /**
   * Whether the sigmoid of a product, `attn_gate`, multiplies the result: with one value per head (Ling 3), or one per element
   * (Hy 4), in some files only (Kimi K3).
   */
  readonly outputGate?: 'attn_gate by head' | 'attn_gate' | 'attn_gate if there';
  /** Whether each head has a learned sink score, `attn_sinks`, in the softmax (Hy 4). */
  readonly hasSinks?: true;
  /**
   * The indexer that chooses the positions which a row attends to, or `earlier` for the choice of the last layer that has one.
   * Only in the absorbed form, and with a latent of queries. Default: rows attend to all positions.
   */
  readonly indexer?: IndexerSpec | 'earlier' | undefined;
}

/** Attention over a cache of latents, or of the keys and values projected from them. */
export type LatentAttentionBlock = Block<'latent-attention', LatentAttentionSpec>;

/**
 * Creates the block; its weights are `attn_q` or `attn_q_a`, `attn_q_a_norm` and `attn_q_b`, `attn_kv_a_mqa`,
 * `attn_kv_a_norm`, those of its form, `attn_gate` if it is gated, `attn_sinks` if it has them, and `attn_output`.
 */
export function latentAttention(spec: LatentAttentionSpec): LatentAttentionBlock {
  return {
    kind: 'latent-attention',
    spec,
    state: cacheGroup(undefined),
    record: (scope, x, layer) => recordLatentAttention(scope, x, spec, layer),
  };
}

/** Reads the sizes of heads, of which `rotatedSize` elements are rotated. Throws `MODEL_CONFIG`. */
export function readLatents(
  read: ConfigReader,
  { heads, kvHeads, keySize, valueSize }: Heads,
  rotatedSize: number,
): Omit<LatentAttentionSpec, 'norm' | 'rope' | 'scale'> {
  const latentSize = read.count('attention.kv_lora_rank');
  const queryLatentSize = read.countOrZero('attention.q_lora_rank') || undefined;
  const absorbed = read.countOrZero('attention.key_length_mla');
  const form = absorbed > 0 ? 'absorbed' : 'expanded';
  const plainSize = (absorbed || keySize) - rotatedSize;
  if (plainSize < 1) read.refuse('rope.dimension_count', `${rotatedSize}`, 'less than a head of keys has');
  const cached = { kvHeads: absorbed ? 1 : heads, keySize: absorbed ? latentSize + rotatedSize : keySize };
  if (kvHeads !== cached.kvHeads) {
    read.refuse('attention.head_count_kv', `${kvHeads}`, `${cached.kvHeads}, as the cache has`);
  }
  if (keySize !== cached.keySize) {
    read.refuse('attention.key_length', `${keySize}`, `${cached.keySize}: the latent and what is rotated`);
  }
  return {
    heads,
    plainSize,
    rotatedSize,
    valueSize: absorbed ? read.count('attention.value_length_mla') : valueSize,
    latentSize,
    queryLatentSize,
    form,
  };
}

/** The values that both forms start from. */
interface Latents {
  /** The part of each head's query that is not rotated, and the rotated part. */
  readonly plainQuery: Tensor;
  readonly rotatedQuery: Tensor;
  readonly latent: Tensor;
  /** The rotated part of the keys, shared by all heads. */
  readonly rotatedKey: Tensor;
  readonly chosen: ChosenPositions | undefined;
}

function recordLatentAttention(
  scope: PartScope,
  x: Tensor,
  spec: LatentAttentionSpec,
  layer: LayerInputs,
): Tensor {
  const latents = recordLatents(scope, x, spec, layer);
  const mix = spec.form === 'absorbed' ? recordAbsorbed : recordExpanded;
  const mixed = mix(scope, latents, spec, layer);
  return linear(scope, openGate(scope, x, mixed, spec), { name: 'attn_output', rows: x.width });
}

/** The result of attention, multiplied by its gate if there is one. */
function openGate(
  scope: PartScope,
  x: Tensor,
  mixed: Tensor,
  { outputGate, heads }: LatentAttentionSpec,
): Tensor {
  const { g } = scope;
  const isThere = outputGate !== 'attn_gate if there' || scope.has('attn_gate.weight');
  if (outputGate === undefined || !isThere) return mixed;
  if (outputGate !== 'attn_gate by head') {
    return gated(g, 'sigmoid', product(scope, x, 'attn_gate', mixed.width), mixed);
  }
  return mul(g, mixed, unary(g, 'sigmoid', product(scope, x, 'attn_gate', heads)));
}

function recordLatents(scope: PartScope, x: Tensor, spec: LatentAttentionSpec, layer: LayerInputs): Latents {
  const { g } = scope;
  const { heads, plainSize, rotatedSize, latentSize, norm } = spec;
  const { rope: rotation } = spec;
  const table = rotation && layer.shared.get(rotation.table);
  const rotate = (of: Tensor): Tensor =>
    rotation && table ? rope(g, of, { table, headSize: rotatedSize, pairs: rotation.pairs }) : of;
  const { query, queryLatent } = recordQueries(scope, x, spec);
  const stride = plainSize + rotatedSize;
  const ofHeads = (offset: number, segmentWidth: number): Tensor =>
    slice(g, query, { offset, segmentWidth, stride, width: heads * segmentWidth });
  const both = product(scope, x, 'attn_kv_a_mqa', latentSize + rotatedSize);
  const latent = slice(g, both, { offset: 0, width: latentSize });
  return {
    plainQuery: ofHeads(0, plainSize),
    rotatedQuery: rotate(ofHeads(plainSize, rotatedSize)),
    latent: normalize(scope, latent, { ...norm, name: 'attn_kv_a_norm' }),
    rotatedKey: rotate(slice(g, both, { offset: latentSize, width: rotatedSize })),
    chosen: recordChoice(scope, { x, queryLatent }, spec.indexer, layer),
  };
}

/** The positions that rows attend to, if not all. */
function recordChoice(
  scope: PartScope,
  { x, queryLatent }: { readonly x: Tensor; readonly queryLatent: Tensor | undefined },
  indexer: LatentAttentionSpec['indexer'],
  layer: LayerInputs,
): ChosenPositions | undefined {
  if (indexer === undefined) return undefined;
  if (indexer === 'earlier') return chosenEarlier(layer);
  invariant(queryLatent, 'an indexer reads the latent of queries');
  return recordIndexer(scope, { x, queryLatent }, indexer, layer);
}

/** The queries of all heads, and the latent that they are projected from. */
function recordQueries(
  scope: PartScope,
  x: Tensor,
  spec: LatentAttentionSpec,
): { readonly query: Tensor; readonly queryLatent: Tensor | undefined } {
  const { heads, plainSize, rotatedSize, queryLatentSize, norm } = spec;
  const rows = heads * (plainSize + rotatedSize);
  if (queryLatentSize === undefined) {
    return { query: product(scope, x, 'attn_q', rows), queryLatent: undefined };
  }
  const latent = product(scope, x, 'attn_q_a', queryLatentSize);
  const queryLatent = normalize(scope, latent, { ...norm, name: 'attn_q_a_norm' });
  return { query: product(scope, queryLatent, 'attn_q_b', rows), queryLatent };
}

/** Attention with one KV head: the keys are the latents with the rotated part, the values the latents alone. */
function recordAbsorbed(
  scope: PartScope,
  { plainQuery, rotatedQuery, latent, rotatedKey, chosen }: Latents,
  spec: LatentAttentionSpec,
  layer: LayerInputs,
): Tensor {
  const { g } = scope;
  const { heads, plainSize, rotatedSize, valueSize, latentSize } = spec;
  const sizes = { kvHeads: 1, keySize: latentSize + rotatedSize, valueSize: latentSize };
  const cache = layer.states.pagedCache({ ...sizes, window: undefined, latent: true });
  const parts = { aPart: latentSize, bPart: rotatedSize };
  appendRotated(g, cache, sizes, { k: concat(g, latent, rotatedKey, parts) });
  const ofKeys = scope.expertWeight('attn_k_b.weight', { count: heads, rows: latentSize }, plainSize);
  const query = concat(g, matmulHeads(g, plainQuery, ofKeys, heads), rotatedQuery, parts);
  const mixed = attendRotated(g, query, cache, { ...sizes, heads, ...scoresOf(scope, spec), chosen });
  const ofValues = scope.expertWeight('attn_v_b.weight', { count: heads, rows: valueSize }, latentSize);
  return matmulHeads(g, mixed, ofValues, heads);
}

/** Attention with separate keys and values per head, projected from the latent before they are cached. */
function recordExpanded(
  scope: PartScope,
  { plainQuery, rotatedQuery, latent, rotatedKey }: Latents,
  spec: LatentAttentionSpec,
  layer: LayerInputs,
): Tensor {
  const { g } = scope;
  const { heads, plainSize, rotatedSize, valueSize } = spec;
  const sizes = { kvHeads: heads, keySize: plainSize + rotatedSize, valueSize };
  const stride = plainSize + valueSize;
  const both = product(scope, latent, 'attn_kv_b', heads * stride);
  const ofHeads = (offset: number, segmentWidth: number): Tensor =>
    slice(g, both, { offset, segmentWidth, stride, width: heads * segmentWidth });
  const parts = { aPart: plainSize, bPart: rotatedSize };
  const cache = layer.states.pagedCache({ ...sizes, window: undefined });
  const k = concat(g, ofHeads(0, plainSize), rotatedKey, parts);
  appendRotated(g, cache, sizes, { k, v: ofHeads(plainSize, valueSize) });
  const query = concat(g, plainQuery, rotatedQuery, parts);
  return attendRotated(g, query, cache, { ...sizes, heads, ...scoresOf(scope, spec) });
}

/** A product whose scale llama.cpp ignores, as it does for all but the last. */
function product(scope: PartScope, x: Tensor, name: string, rows: number): Tensor {
  return linear(scope, x, { name, rows, scale: 'never' });
}

function scoresOf(scope: PartScope, spec: LatentAttentionSpec): ScoreParameters {
  const { heads, hasSinks, scale, temperatureScale, temperatureLength, temperatureOffset } = spec;
  return {
    ...{ scale, temperatureScale, temperatureLength, temperatureOffset },
    ...(hasSinks && { sinks: scope.weight('attn_sinks.weight', 1, heads) }),
  };
}

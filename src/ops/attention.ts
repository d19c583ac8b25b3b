import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import { STATE_BLOCK } from './state-blocks.ts';
import { type BatchTensors, type State, stateBytes, type Tensor, type Value, type Weight } from './value.ts';

/**
 * A paged cache of keys or values: positions `i * blockSize ...` of a slot's sequence lie in the cells of block
 * `blocks[slot, i]`, so `cell(slot, p) = blocks[slot, p / blockSize] * blockSize + p % blockSize`. Both are of one type, f32,
 * f16 or q8_0.
 */
export interface PagedCache {
  readonly keys: State;
  readonly values: State;
  /** The block table by which its positions are found, i32 [slots, blocksPerSlot]: the batch's, unless a model has several. */
  readonly blocks: Tensor;
  readonly blockSize: number;
}

/** Writes row r of `k` and `v` into `cell(slots[r], positions[r])`, rounded to the cache's type or quantized to it. */
export interface KvAppendOp {
  readonly kind: 'kvAppend';
  readonly k: Tensor;
  readonly v: Tensor;
  readonly cache: PagedCache;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>;
}

/**
 * `out[r, h] = sum_p softmax_p(cap(scale * q[r, h] · key[p])) * value[p]` over the positions of the row's sequence from
 * `max(0, causalLimit - window + 1)` to the row's `causalLimit`, which is its own position unless said otherwise, keys and values shared by `heads / kvHeads` heads.
 * `cap(s) = softCap * tanh(s / softCap)` where a soft cap is given (Gemma 2). Where there are sinks, the softmax's denominator has
 * `exp(sinks[h])` as well (gpt-oss).
 */
export interface AttentionOp extends AttentionParameters {
  readonly kind: 'attention';
  readonly q: Tensor;
  readonly cache: PagedCache;
  /** Where a row's sequence lies. Not its position: how far a row looks is what `causalLimit` says. */
  readonly batch: Pick<BatchTensors, 'slots' | 'blocks'>;
  /** i32 [rows, 1]: the last position that a row looks at. */
  readonly causalLimit: Tensor;
  readonly out: Tensor;
}

/** What is done to the scores, as every kernel for attention is told it. */
export interface ScoreParameters {
  /** Factor of the scores. */
  readonly scale: number;
  /** Scores become `softCap * tanh(score / softCap)`. Default: they stay. */
  readonly softCap?: number | undefined;
  /** Positions that a row looks back at, its own among them. Default: all. */
  readonly window?: number | undefined;
  /** f32 [1, heads]: a learned score for each head of queries, which weighs in the softmax and has no value (gpt-oss). */
  readonly sinks?: Weight | undefined;
  /**
   * Queries far into a text are longer: at position p by `1 + temperatureScale * ln(1 + floor((p + temperatureOffset) /
   * temperatureLength))` (Llama 4, Mistral 3). Default: all are as they are. The position is the last one that the row looks at.
   */
  readonly temperatureScale?: number | undefined;
  readonly temperatureLength?: number | undefined;
  readonly temperatureOffset?: number | undefined;
}

/** The factor of the scores of a row at a position: `scale`, and the temperature's. */
export function scaleAt(of: Omit<ScoreParameters, 'sinks'>, position: number): number {
  const { scale, temperatureScale = 0, temperatureLength = 0, temperatureOffset = 0 } = of;
  if (temperatureScale === 0) return scale;
  const lengths = Math.floor((position + temperatureOffset) / temperatureLength);
  return scale * (1 + temperatureScale * Math.log(1 + lengths));
}

/**
 * What each of them is to a kernel, a weight the address of its f32 vector; one that is not given is 0. Devices make their kernels' parameters of this list, in this order, so
 * that a new one is named here and in the kernels' texts.
 */
export const SCORE_PARAMETERS: Readonly<Record<keyof ScoreParameters, 'f32' | 'i32' | 'weight'>> = {
  scale: 'f32',
  softCap: 'f32',
  window: 'i32',
  sinks: 'weight',
  temperatureScale: 'f32',
  temperatureLength: 'i32',
  temperatureOffset: 'i32',
};

/** The names in `SCORE_PARAMETERS`, in order. */
export const SCORE_NAMES = Object.keys(SCORE_PARAMETERS) as readonly (keyof ScoreParameters)[];

/** Head counts, sizes in elements, and what is done to the scores. */
export interface AttentionParameters extends ScoreParameters {
  /** Heads of queries. */
  readonly heads: number;
  /** Heads of keys and values, each shared by `heads / kvHeads` heads of queries. */
  readonly kvHeads: number;
  /** Elements of a head of queries and keys. */
  readonly keySize: number;
  /** Elements of a head of values. */
  readonly valueSize: number;
}

function isTable({ shape }: Recorder<never>, { type, axis, width }: Tensor): boolean {
  return type === 'i32' && axis === 'slots' && width === shape.blocksPerSlot;
}

/** Appends the rows' keys and values to the cache; later operators of the graph see them. */
export function kvAppend(g: Recorder<KvAppendOp>, cache: PagedCache, k: Tensor, v: Tensor): void {
  g.require(k.width === cache.keys.width && v.width === cache.values.width, 'keys and values fit the cache');
  g.require(
    isTable(g, cache.blocks),
    `the cache's block table has ${g.shape.blocksPerSlot} blocks for each slot`,
  );
  const { slots, positions } = g.batch;
  g.push({ kind: 'kvAppend', k, v, cache, batch: { slots, positions, blocks: cache.blocks } });
}

/**
 * Attention of every row over its own sequence: f32 [rows, heads * valueSize]. It is causal unless `causalLimit` says how far rows
 * look, i32 [rows, 1].
 */
export function attention(
  g: Recorder<AttentionOp>,
  q: Tensor,
  cache: PagedCache,
  { causalLimit = g.batch.positions, ...of }: AttentionParameters & { readonly causalLimit?: Tensor },
): Tensor {
  g.require(of.heads % of.kvHeads === 0, `${of.kvHeads} key heads divide ${of.heads} heads evenly`);
  g.require(
    q.width === of.heads * of.keySize,
    `queries are ${of.heads} x ${of.keySize} wide, not ${q.width}`,
  );
  g.require(cache.keys.width === of.kvHeads * of.keySize, `keys are ${of.kvHeads} x ${of.keySize} wide`);
  g.require(
    cache.values.width === of.kvHeads * of.valueSize,
    `values are ${of.kvHeads} x ${of.valueSize} wide`,
  );
  g.require(
    causalLimit.type === 'i32' && causalLimit.width === 1,
    'each row has a last position that it looks at',
  );
  const { temperatureScale = 0, temperatureLength = 0, temperatureOffset = 0 } = of;
  const hasLength = Number.isSafeInteger(temperatureLength) && temperatureLength > 0;
  const isWhole = Number.isSafeInteger(temperatureOffset) && temperatureOffset >= 0;
  g.require(
    temperatureScale === 0 || (hasLength && isWhole),
    'a temperature has a length of whole positions',
  );
  const isVector = of.sinks === undefined || (of.sinks.rows === 1 && of.sinks.columns === of.heads);
  g.require(isVector, `there are ${of.heads} sinks`);
  const sizes = [of.keySize, of.valueSize];
  const whole = cache.keys.type !== 'q8_0' || sizes.every((size) => size % STATE_BLOCK === 0);
  g.require(whole, `heads of ${sizes.join(' and ')} elements are whole blocks of a q8_0 cache`);
  const out = g.temp('attention', { axis: 'rows', width: of.heads * of.valueSize });
  const { slots } = g.batch;
  g.require(
    isTable(g, cache.blocks),
    `the cache's block table has ${g.shape.blocksPerSlot} blocks for each slot`,
  );
  g.push({ kind: 'attention', q, cache, batch: { slots, blocks: cache.blocks }, causalLimit, out, ...of });
  return out;
}

/** What attention reads, in the order that `operandsOf` promises. */
export function attentionOperands({
  q,
  causalLimit,
  cache,
  sinks,
}: AttentionOp): readonly (Value | undefined)[] {
  return [q, causalLimit, cache.keys, cache.values, cache.blocks, sinks];
}

/** Reads each value once, writes it once. */
export function kvAppendCost(op: KvAppendOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * (op.k.width + op.v.width), 0);
}

/** Reads the attended cells once a row; two multiply-adds a cell value and query head. */
export function attentionCost(op: AttentionOp, rows: number, attended: number): Cost {
  const { keys, values } = op.cache;
  const cell = stateBytes(keys) / keys.rows + stateBytes(values) / values.rows;
  return {
    bytes: rows * (4 * (op.q.width + op.out.width) + attended * cell),
    flops: 2 * rows * attended * op.heads * (op.keySize + op.valueSize),
  };
}

import type { ChosenPositions } from './choose-positions.ts';
import { type Cost, rowwiseCost } from './cost.ts';
import { decodesApart, type PagedCache } from './paged-cache.ts';
import type { Recorder } from './recorder.ts';
import { isBlockType, STATE_BLOCK } from './state-blocks.ts';
import { type BatchTensors, stateBytes, type Tensor, type Value, type Weight } from './value.ts';

/**
 * Writes row r of `k`, and of `v` if values are stored, into `cell(slots[r], positions[r])`, rounded to the cache's
 * type or quantized to it. Rows at a position below 0 are not written.
 */
export interface KvAppendOp {
  readonly kind: 'kvAppend';
  readonly k: Tensor;
  readonly v: Tensor | undefined;
  readonly cache: PagedCache;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>;
}

/**
 * `out[r, h] = sum_p softmax_p(cap(scale * q[r, h] · key[p]) + bias(h, p)) * value[p]` over the positions of the row's
 * sequence from `firstVisible` to the row's `causalLimit`, by default its own position; keys and values are shared by
 * `heads / kvHeads` heads. With a soft cap, `cap(s) = softCap * tanh(s / softCap)` (Gemma 2). With ALiBi, `bias(h, p) =
 * -alibiSlope(h) * distance`, the distance from the causal limit or, with a `reach`, from the row's own position (Press et al. 2022). With sinks, the softmax's denominator also includes
 * `exp(sinks[h])` (gpt-oss).
 */
export interface AttentionOp extends AttentionParameters {
  readonly kind: 'attention';
  readonly q: Tensor;
  readonly cache: PagedCache;
  /**
   * How to find a row's sequence in the cache: its row of the block table, or one for each of as many equal groups of key
   * heads. Positions are not part of it: `causalLimit` determines what a row attends to.
   */
  readonly batch: Pick<BatchTensors, 'slots' | 'blocks'>;
  /** i32 [rows, 1]: the last position that a row attends to, or as many as it has rows in the block table. */
  readonly causalLimit: Tensor;
  /** i32 [rows, 1]: the rows' own positions, with a `reach`. */
  readonly positions?: Tensor;
  readonly out: Tensor;
}

/** Parameters of the scores, as passed to every attention kernel. */
export interface ScoreParameters {
  /** Factor on the scores. */
  readonly scale: number;
  /** Scores become `softCap * tanh(score / softCap)`. Default: unchanged. */
  readonly softCap?: number | undefined;
  /** Size of the sliding window in positions, including the row's own. Default: all positions. */
  readonly window?: number | undefined;
  /**
   * Positions of a chunk: rows attend to those of their own chunk, which begins at a multiple of it (Llama 4). Not
   * together with a window. Default: no chunks.
   */
  readonly chunk?: number | undefined;
  /** f32 [1, heads]: a learned score per query head that takes part in the softmax but has no value (gpt-oss). */
  readonly sinks?: Weight | undefined;
  /**
   * Temperature tuning: queries at position p are scaled by `1 + temperatureScale * ln(1 + floor((p +
   * temperatureOffset) / temperatureLength))` (Llama 4, Mistral 3). Default: none. The position is the last one that
   * the row attends to.
   */
  readonly temperatureScale?: number | undefined;
  readonly temperatureLength?: number | undefined;
  readonly temperatureOffset?: number | undefined;
  /**
   * The exponent of the last of a power of two of heads' slopes, which are `2 ^ (-alibiBias * (h + 1) / heads)` (ALiBi;
   * llama.cpp's `max_alibi_bias`). Not together with a soft cap. Default: no bias.
   */
  readonly alibiBias?: number | undefined;
  /** The largest power of two that is not above the number of heads; `attention` sets it. */
  readonly alibiHeads?: number | undefined;
}

/** The first position that a row sees whose causal limit is `last`. */
export function firstVisible(
  { window, chunk }: Pick<ScoreParameters, 'window' | 'chunk'>,
  last: number,
): number {
  if (chunk !== undefined) return Math.floor(last / chunk) * chunk;
  return window === undefined ? 0 : Math.max(0, last - window + 1);
}

/** The positions that a row sees, from the first to the last, given its causal limit and, with a reach, its own. */
export function visibleRange(
  of: Pick<AttentionParameters, 'window' | 'chunk' | 'reach'>,
  limit: number,
  own = limit,
): { readonly first: number; readonly last: number } {
  const { reach } = of;
  if (reach === undefined) return { first: firstVisible(of, limit), last: limit };
  return { first: Math.max(0, own - reach), last: Math.min(limit, own + reach) };
}

/**
 * The slope of a head's bias per position of distance (Press et al. 2022): a geometric sequence for the first
 * `alibiHeads` heads; the others take every other value of the sequence for twice as many. 0 without ALiBi.
 */
export function alibiSlope(
  { alibiBias = 0, alibiHeads = 1 }: Pick<ScoreParameters, 'alibiBias' | 'alibiHeads'>,
  head: number,
): number {
  if (alibiBias === 0) return 0;
  const step = head < alibiHeads ? head + 1 : head - alibiHeads + 0.5;
  return 2 ** ((-alibiBias * step) / alibiHeads);
}

/** The factor on the scores of a row at a position: `scale` times the temperature's. */
export function scaleAt(of: Omit<ScoreParameters, 'sinks'>, position: number): number {
  const { scale, temperatureScale = 0, temperatureLength = 0, temperatureOffset = 0 } = of;
  if (temperatureScale === 0) return scale;
  const lengths = Math.floor((position + temperatureOffset) / temperatureLength);
  return scale * (1 + temperatureScale * Math.log(1 + lengths));
}

/**
 * The type of each parameter in a kernel; a weight is the address of its f32 vector, and missing ones are 0. Devices
 * generate their kernels' parameters from this list, in this order, so that a new one is named here and in the kernels
 * only.
 */
export const SCORE_PARAMETERS: Readonly<Record<keyof ScoreParameters, 'f32' | 'i32' | 'weight'>> = {
  scale: 'f32',
  softCap: 'f32',
  window: 'i32',
  chunk: 'i32',
  sinks: 'weight',
  temperatureScale: 'f32',
  temperatureLength: 'i32',
  temperatureOffset: 'i32',
  alibiBias: 'f32',
  alibiHeads: 'i32',
};

/** The names in `SCORE_PARAMETERS`, in order. */
export const SCORE_NAMES = Object.keys(SCORE_PARAMETERS) as readonly (keyof ScoreParameters)[];

/** Head counts, sizes in elements, and parameters of the scores. */
export interface AttentionParameters extends ScoreParameters {
  /** Number of query heads. */
  readonly heads: number;
  /** Number of KV heads, each shared by `heads / kvHeads` query heads. */
  readonly kvHeads: number;
  /** Elements of a query or key head. */
  readonly keySize: number;
  /**
   * Positions that a row sees on either side of its own, up to its causal limit: the symmetric window of encoders
   * (ModernBERT, and Jina's with ALiBi). Not together with other limits. Default: no such limit.
   */
  readonly reach?: number | undefined;
  /** Elements of a value head; at most `keySize` if values are the first elements of the keys. */
  readonly valueSize: number;
}

function requireTable(g: Recorder<never>, { type, axis, width }: Tensor): void {
  const { blocksPerSlot } = g.shape;
  const isTable = type === 'i32' && axis === 'slots' && width === blocksPerSlot;
  g.require(isTable, `the cache's block table has ${blocksPerSlot} blocks for each slot`);
}

/** Elements between the starts of consecutive heads' values in a cell. */
export function valueStride({
  cache,
  keySize,
  valueSize,
}: Pick<AttentionOp, 'cache' | 'keySize' | 'valueSize'>): number {
  return cache.values ? valueSize : keySize;
}

/**
 * Appends the rows' keys, and their values if those are stored, to the cache, visible to later operators of the graph.
 */
export function kvAppend(g: Recorder<KvAppendOp>, cache: PagedCache, k: Tensor, v?: Tensor): void {
  const fits = k.width === cache.keys.width && v?.width === cache.values?.width;
  g.require(fits, 'keys and values fit the cache');
  requireTable(g, cache.blocks);
  const { slots, positions } = g.batch;
  g.push({ kind: 'kvAppend', k, v, cache, batch: { slots, positions, blocks: cache.blocks } });
}

/** Appends rows at places of their own, i32 [rows, 1]; rows at a place below 0 are not appended. */
export function appendAt(
  g: Recorder<KvAppendOp>,
  cache: PagedCache,
  { k, places }: { readonly k: Tensor; readonly places: Tensor },
): void {
  g.require(k.width === cache.keys.width && !cache.values, 'keys alone fit the cache');
  g.require(places.type === 'i32' && places.width === 1, 'each row has a place');
  requireTable(g, cache.blocks);
  const batch = { slots: g.batch.slots, positions: places, blocks: cache.blocks };
  g.push({ kind: 'kvAppend', k, v: undefined, cache, batch });
}

/**
 * Attention of every row over its own sequence: f32 [rows, heads * valueSize]. Causal, unless `causalLimit`, i32 [rows,
 * 1], sets another limit. With `chosen`, rows attend to those positions only, without other limits.
 */
export function attention(
  g: Recorder<AttentionOp>,
  q: Tensor,
  cached: PagedCache,
  of: AttentionParameters & { readonly causalLimit?: Tensor; readonly chosen?: ChosenPositions | undefined },
): Tensor {
  const { causalLimit = g.batch.positions, chosen, ...parameters } = of;
  requireTable(g, cached.blocks);
  if (!chosen) return attend(g, q, cached, { ...parameters, causalLimit, slots: g.batch.slots });
  const { cells, places: slots, limits } = chosen;
  const { window, chunk, reach, alibiBias, temperatureScale } = parameters;
  const isAlone = [window, chunk, reach, alibiBias || undefined, temperatureScale || undefined];
  g.require(
    isAlone.every((limit) => limit === undefined),
    'rows that attend to chosen positions have no other limit, bias or temperature',
  );
  const cache = { ...cached, blocks: cells, blockSize: 1 };
  return attend(g, q, cache, { ...parameters, causalLimit: limits, slots });
}

function attend(
  g: Recorder<AttentionOp>,
  q: Tensor,
  cache: PagedCache,
  {
    causalLimit,
    slots,
    ...of
  }: AttentionParameters & { readonly causalLimit: Tensor; readonly slots: Tensor },
): Tensor {
  g.require(of.heads % of.kvHeads === 0, `${of.kvHeads} key heads divide ${of.heads} heads evenly`);
  g.require(
    q.width === of.heads * of.keySize,
    `queries are ${of.heads} x ${of.keySize} wide, not ${q.width}`,
  );
  g.require(cache.keys.width === of.kvHeads * of.keySize, `keys are ${of.kvHeads} x ${of.keySize} wide`);
  const hasValues = cache.values
    ? cache.values.width === of.kvHeads * of.valueSize
    : of.valueSize <= of.keySize;
  g.require(hasValues, `values are ${of.kvHeads} x ${of.valueSize} wide`);
  g.require(
    causalLimit.type === 'i32' && causalLimit.width === slots.width && of.kvHeads % slots.width === 0,
    'each row has a last position that it looks at, or one for each of equal groups of key heads',
  );
  const { temperatureScale = 0, temperatureLength = 0, temperatureOffset = 0 } = of;
  const hasLength = Number.isSafeInteger(temperatureLength) && temperatureLength > 0;
  const isWhole = Number.isSafeInteger(temperatureOffset) && temperatureOffset >= 0;
  g.require(
    temperatureScale === 0 || (hasLength && isWhole),
    'a temperature has a length of whole positions',
  );
  g.require(of.chunk === undefined || of.window === undefined, 'rows see a window or a chunk, not both');
  g.require(!of.alibiBias || !of.softCap, "scores with ALiBi's bias have no soft cap");
  const isAlone = of.window === undefined && of.chunk === undefined;
  g.require(of.reach === undefined || isAlone, 'rows with a reach have no other limit');
  const alibiHeads = of.alibiBias ? 2 ** Math.floor(Math.log2(of.heads)) : undefined;
  const isVector = of.sinks === undefined || (of.sinks.rows === 1 && of.sinks.columns === of.heads);
  g.require(isVector, `there are ${of.heads} sinks`);
  const sizes = [of.keySize, of.valueSize];
  const inBlocks = isBlockType(cache.keys.type) || isBlockType(cache.values?.type ?? 'f32');
  const whole = !inBlocks || sizes.every((size) => size % STATE_BLOCK === 0);
  g.require(whole, `heads of ${sizes.join(' and ')} elements are whole blocks of the cache`);
  g.require(inBlocks || !decodesApart(cache), 'keys and values that are not in blocks are of one type');
  const out = g.temp('attention', { axis: 'rows', width: of.heads * of.valueSize });
  const parameters = { ...of, ...(alibiHeads !== undefined && { alibiHeads }) };
  g.push({
    kind: 'attention',
    q,
    cache,
    batch: { slots, blocks: cache.blocks },
    causalLimit,
    ...(of.reach !== undefined && { positions: g.batch.positions }),
    out,
    ...parameters,
  });
  return out;
}

/** The operands of attention, in the order that `operandsOf` specifies. */
export function attentionOperands({
  q,
  causalLimit,
  cache,
  batch,
  sinks,
}: AttentionOp): readonly (Value | undefined)[] {
  const places = hasOwnTable({ cache }) ? batch.slots : undefined;
  return [q, causalLimit, cache.keys, cache.values, cache.blocks, sinks, places];
}

/** Entries in a row of the block table. */
export function tableWidth({ slots, blocks }: Pick<BatchTensors, 'slots' | 'blocks'>): number {
  return blocks.width / slots.width;
}

/** Whether each row has a block table of its own, of the positions that were chosen for it. */
export function hasOwnTable({ cache }: Pick<AttentionOp, 'cache'>): boolean {
  return cache.blocks.axis === 'rows';
}

/** Reads each value once, writes it once. */
export function kvAppendCost(op: KvAppendOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * (op.k.width + (op.v?.width ?? 0)), 0);
}

/** Reads the attended cells once per row; two multiply-adds per cell value and query head. */
export function attentionCost(op: AttentionOp, rows: number, visible: number): Cost {
  const attended = hasOwnTable(op) ? Math.min(visible, tableWidth(op.batch)) : visible;
  const { keys, values } = op.cache;
  const cell = (stateBytes(keys) + (values ? stateBytes(values) : 0)) / keys.rows;
  return {
    bytes: rows * (4 * (op.q.width + op.out.width) + attended * cell),
    flops: 2 * rows * attended * op.heads * (op.keySize + op.valueSize),
  };
}

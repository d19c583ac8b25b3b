import { SCORE_NAMES, SCORE_PARAMETERS, type ScoreParameters, type StateType } from '../../ops/index.ts';

/**
 * The kernels as TypeScript sees them. Addresses are byte offsets into the instance's one shared memory, counts are
 * elements. No kernel allocates, keeps state or checks its arguments; none reads or writes below `heapBase()`.
 * Addresses of f32 and i32 data are multiples of 4; `out` may be an operand of elementwise operators. Results depend
 * neither on how rows are split among calls, nor on the build (relaxed or baseline SIMD), nor on how many rows of
 * activations a product has.
 */
export interface KernelExports {
  /** The first address a host may use; the kernels' tables are below it. */
  heapBase(): number;
  /** `out = f32(x)`, `n` f16 values. */
  widen(x: number, out: number, n: number): void;
  /** `out = f16(x)`, `n` f32 values, rounded to nearest even. */
  narrow(x: number, out: number, n: number): void;
  /**
   * Quantizes `columns` columns of each of `rows` rows of `width` into tiles of `lanes` (1 or `TILE_ROWS`) rows, from lane `lane` of the
   * one at `out` on, `span` groups of 32 columns with one scale; `scratch` takes 128 bytes.
   */
  quantize(
    x: number,
    out: number,
    columns: number,
    width: number,
    rows: number,
    lanes: number,
    lane: number,
    scratch: number,
    span: number,
  ): void;
  /** `groups` records of one lane of a tile at `x` into a lane of a tile at `out`. */
  copyRecords(x: number, out: number, groups: number): void;
  /** `out = x`, `n` words of 32 bits. */
  copyWords(x: number, out: number, n: number): void;
  /** `out[i]` = sum over `count` rows of `n` values at `x` of `x[j][i] * factors[j]`, added up in f64. */
  weightedSum(x: number, factors: number, out: number, n: number, count: number): void;
  /** `out = a + b`. */
  add(a: number, b: number, out: number, n: number): void;
  /** `out = a * b`. */
  mul(a: number, b: number, out: number, n: number): void;
  /** `out = x + term`. */
  shift(x: number, term: number, out: number, n: number): void;
  /** `out = factor * x`. */
  scale(x: number, factor: number, out: number, n: number): void;
  /** `out = min(max(x, low), high)`. */
  clamp(x: number, low: number, high: number, out: number, n: number): void;
  /** `out = fn(x)`; `fn` is the index in `ACTIVATIONS`. */
  unary(fn: number, x: number, out: number, n: number): void;
  /** `out = fn(gate) * up` for `n` values of each of `rows` rows, which are `width` values apart; `fn` is the index in `GATED_FUNCTIONS`. */
  gated(fn: number, gate: number, up: number, out: number, n: number, rows: number, width: number): void;
  /** `x[r] += vector` for `rows` contiguous rows of `n`. */
  addToRows(vector: number, x: number, rows: number, n: number): void;
  /** One row (or one head): `out = x / sqrt(mean(x²) + epsilon) * weight`; `weight` 0 for none. */
  rmsNorm(x: number, weight: number, out: number, n: number, epsilon: number): void;
  /** One row: `out = (x - mean) / sqrt(variance + epsilon) * weight + bias`; `weight` and `bias` 0 for none. */
  layerNorm(x: number, weight: number, bias: number, out: number, n: number, epsilon: number): void;
  /** One row and head of RWKV-7's recurrence over the `n` x `n` matrix at `state`; `n` is a multiple of 4. */
  wkv7(
    state: number,
    r: number,
    w: number,
    k: number,
    v: number,
    kk: number,
    a: number,
    out: number,
    n: number,
  ): void;
  /**
   * Columns `first` to `end` of one row of a causal convolution with `count` taps; `bias` 0 for none. `last` is
   * advanced by the row.
   */
  causalConv(
    x: number,
    taps: number,
    bias: number,
    last: number,
    out: number,
    first: number,
    end: number,
    width: number,
    count: number,
  ): void;
  /**
   * One row and head of the gated delta rule; `decays` is 1 or `keys`, which is a multiple of 4; `scratch` takes three
   * times as many values.
   */
  gatedDelta(
    state: number,
    q: number,
    k: number,
    v: number,
    decay: number,
    decays: number,
    beta: number,
    out: number,
    keys: number,
    values: number,
    epsilon: number,
    scale: number,
    scratch: number,
  ): void;
  /**
   * One row and head of a selective state space; `rates` is 1 or `n`, a multiple of 4, or 0 if `rate` has factors; `scratch` takes `n`
   * values.
   */
  selectiveScan(
    state: number,
    x: number,
    step: number,
    b: number,
    c: number,
    rate: number,
    rates: number,
    skip: number,
    out: number,
    lines: number,
    n: number,
    scratch: number,
  ): void;
  /** What each of `rows` rows, a multiple of 4, sees of those up to it in a group of heads: `rows * rows` values at `pairs`. */
  scanPairs(b: number, c: number, next: number, n: number, rows: number, pairs: number): void;
  /**
   * `rows` rows of one sequence and head of a selective state space with one rate, a multiple of 4; `lines` and `n` are multiples of 16.
   * `next`, `nextDt` and `nextB` are bytes between rows; `scratch` takes `rows * (rows + lines + 2)` values.
   */
  scanChunk(
    state: number,
    x: number,
    out: number,
    next: number,
    dt: number,
    nextDt: number,
    b: number,
    c: number,
    nextB: number,
    rate: number,
    skip: number,
    lines: number,
    n: number,
    rows: number,
    pairs: number,
    scratch: number,
  ): void;
  softmax(x: number, out: number, n: number): void;
  /**
   * The largest value of each block of `block` out of `n`, a multiple of 4, to `out`; NaN for blocks that hold one. Gives 1 if a value
   * is NaN or infinite, otherwise 0.
   */
  blockMaxima(x: number, n: number, block: number, out: number): number;
  /**
   * One row's heads rotated by its table of (cos, sin) pairs, `rotaryDim` values per head; `neox` 1 pairs (i, i +
   * rotaryDim / 2).
   */
  rope(
    x: number,
    table: number,
    out: number,
    heads: number,
    headSize: number,
    rotaryDim: number,
    neox: number,
  ): void;
  /**
   * One row and its query head group `index`, which shares a key head: positions `begin` to `end - 1`. `q` and `out`
   * are the group's query heads; `keys` and `values` the cache at the key head, `keyScales` and `valueScales` its
   * scales if it is in blocks; `blocks` the sequence's block numbers; `parameters` written by
   * `writeAttentionParameters`; `own` the position from which ALiBi measures distances;
   * `scratch` takes `attentionScratchBytes`.
   */
  attention(
    q: number,
    keys: number,
    values: number,
    out: number,
    blocks: number,
    parameters: number,
    begin: number,
    end: number,
    scratch: number,
    keyScales: number,
    valueScales: number,
    index: number,
    own: number,
  ): void;
  /**
   * An indexer's scores of a row's positions `begin` to `end - 1`, by `heads` heads of `size` elements. `cellBytes` and
   * `scaleBytes` are those of a cell, `type` is one of `CELL_CODES`; `scratch` takes 16 * (1 + size) bytes. Without
   * `weights` (0), each head has scores of its own, `stride` bytes after the previous one's.
   */
  indexScores(
    q: number,
    weights: number,
    keys: number,
    scales: number,
    out: number,
    blocks: number,
    blockSize: number,
    heads: number,
    size: number,
    type: number,
    cellBytes: number,
    scaleBytes: number,
    begin: number,
    end: number,
    scratch: number,
    stride: number,
  ): void;
  /** Quantizes `blocks` blocks of 32 f32 as `STATE_BLOCKS` defines q8_0, q4_0 and q5_1. */
  quantizeStateBlocks: StateBlockKernel;
  quantizeNibbleBlocks: StateBlockKernel;
  quantizeFiveBitBlocks: StateBlockKernel;
}

/** Quantizes `blocks` blocks of 32 f32 at `x` into two planes. */
export type StateBlockKernel = (x: number, quants: number, scales: number, blocks: number) => void;

/**
 * `decode_*`: `blocks` blocks of a format (elements, for F32, F16 and BF16) at `src` to f32 at `out`, bit for bit like
 * the format's own `decode`. `scratch` takes 512 bytes.
 */
export type DecodeKernel = (src: number, out: number, blocks: number, scratch: number) => void;

/**
 * `pack_*`: `rows` rows of file blocks at `src` into a packed weight, starting at its row `firstRow` (a multiple of
 * four). Only the weight's last chunk may have a number of rows that is not a multiple of four. `scratch` takes 512
 * bytes.
 */
export type PackKernel = (
  src: number,
  packed: number,
  firstRow: number,
  rows: number,
  columns: number,
  scratch: number,
) => void;

/**
 * `matvec_*`: `y[r] = weight[r] · x` for the weight's rows `begin` (a multiple of four) to `end`. `x` is one lane of records
 * among `lanes` (or an f32 row, for float weights).
 */
export type MatVecKernel = (
  packed: number,
  x: number,
  y: number,
  begin: number,
  end: number,
  columns: number,
  lanes: number,
  scratch: number,
) => void;

/**
 * `matmat_*`: `y[t * stride + r] = weight[r] · x[t]` for the weight's rows `begin` (a multiple of four) to `end` and `tokens`
 * rows of activations: records in tiles (or f32 rows of `columns`, for float weights).
 */
export type MatMatKernel = (
  packed: number,
  x: number,
  y: number,
  begin: number,
  end: number,
  columns: number,
  tokens: number,
  stride: number,
  scratch: number,
) => void;

/** The codes that `attention` and `indexScores` use for the types of a cell's elements; a cache of integers is refused earlier. */
export const CELL_CODES: Readonly<Record<StateType, number>> = {
  f32: 0,
  f16: 1,
  q8_0: 2,
  q4_0: 3,
  q5_1: 4,
  i32: 0,
};

/**
 * The parameters that `attention` reads at `parameters`. Sizes count values; cell bytes are those of all key heads of a
 * cell.
 */
export interface AttentionKernelParameters {
  readonly blockSize: number;
  /** Number of query heads that share a key head, at most as many as a call takes. */
  readonly group: number;
  readonly keySize: number;
  readonly valueSize: number;
  readonly keyCellBytes: number;
  /** 0 if a head's values are the first elements of its keys. */
  readonly valueCellBytes: number;
  /** Bytes of the scales of all key heads of a cell; 0 if it has none. */
  readonly keyScaleBytes: number;
  readonly valueScaleBytes: number;
  readonly keyType: StateType;
  /** That of the keys if values are among them. */
  readonly valueType: StateType;
  readonly scores: ScoreNumbers;
}

/** The score parameters as numbers: weights as their addresses. */
export type ScoreNumbers = Readonly<Record<keyof ScoreParameters, number>>;

/** Offset in bytes of the score parameters, the first of which is the scale. */
export const SCORES_AT = 36;

/** Bytes of `attention`'s parameters. */
export const ATTENTION_PARAMETER_BYTES = SCORES_AT + 4 * SCORE_NAMES.length;

/** Writes the parameters of `attention` at a byte offset. */
export function writeAttentionParameters(view: DataView, at: number, of: AttentionKernelParameters): void {
  view.setUint32(at, of.blockSize, true);
  view.setUint32(at + 4, of.group, true);
  view.setUint32(at + 8, of.keySize, true);
  view.setUint32(at + 12, of.valueSize, true);
  view.setUint32(at + 16, of.keyCellBytes, true);
  view.setUint32(at + 20, of.valueCellBytes, true);
  view.setUint32(at + 24, of.keyScaleBytes, true);
  view.setUint32(at + 28, of.valueScaleBytes, true);
  view.setUint16(at + 32, CELL_CODES[of.keyType], true);
  view.setUint16(at + 34, CELL_CODES[of.valueType], true);
  SCORE_NAMES.forEach((name, i) => {
    const place = at + SCORES_AT + 4 * i;
    if (SCORE_PARAMETERS[name] === 'f32') view.setFloat32(place, of.scores[name], true);
    else view.setUint32(place, of.scores[name], true);
  });
}

/** Maximum query heads per call of `attention`: more would leave threads without work if there are few key heads. */
const MAX_HEADS_TOGETHER = 8;

/** Number of a key head's query heads that a call of `attention` takes. */
export function headsTogether({
  heads,
  kvHeads,
}: {
  readonly heads: number;
  readonly kvHeads: number;
}): number {
  const group = heads / kvHeads;
  let together = Math.min(group, MAX_HEADS_TOGETHER);
  while (group % together !== 0) together--;
  return together;
}

/** Bytes of scratch that `attention` needs. */
export function attentionScratchBytes(group: number, keySize: number, valueSize: number): number {
  return 128 + 144 * group + 128 * Math.max(keySize, valueSize);
}

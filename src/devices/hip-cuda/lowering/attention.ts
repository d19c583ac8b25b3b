import { type ActivationForm, type AttentionIntent, headGroups } from '../../../device/index.ts';
import {
  type AttentionOp,
  type BatchTensors,
  decodesApart,
  hasOwnTable,
  type KvAppendOp,
  type PagedCache,
  SCORE_NAMES,
  SCORE_PARAMETERS,
  type StateType,
  tableWidth,
} from '../../../ops/index.ts';
import { halfDefines } from './epilogue.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import { DRIVER_SHARED } from '../launching/hip-cuda-module.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** The kernels' codes for cache types: CACHE of `paged-cache.h`, and those of `cache-types.h`. */
const CACHE_CODES: Readonly<Record<StateType, number>> = {
  f32: 0,
  f16: 1,
  q8_0: 2,
  q4_0: 3,
  q5_1: 4,
  i32: 0,
};
/** CACHE of keys and values with types of their own. */
const APART = 3;
/** Threads of a block that appends, each of a key and of a value. */
const APPENDED = 256;

export function cacheDefines(cache: PagedCache): { CACHE: number; KEYS_AS?: number; VALUES_AS?: number } {
  const { keys, values = keys } = cache;
  if (!decodesApart(cache)) return { CACHE: CACHE_CODES[keys.type] };
  return { CACHE: APART, KEYS_AS: CACHE_CODES[keys.type], VALUES_AS: CACHE_CODES[values.type] };
}

/** Kernel arguments that locate rows' cells in a cache: slots, positions, block table and number of cells. */
export function cellArgs(
  cache: PagedCache,
  { slots, positions, blocks }: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>,
): readonly Operand[] {
  const width = tableWidth({ slots, blocks });
  return [slots, positions, blocks, int(width), int(cache.blockSize), int(cache.keys.rows)];
}

/** How a kernel for attention is compiled that finds values among the keys. */
export function latentDefines({ values }: PagedCache): { LATENT?: 1 } {
  return values ? {} : { LATENT: 1 };
}

/** How a kernel for attention is compiled that adds ALiBi's bias. */
export function alibiDefines({ alibiBias }: AttentionOp): { ALIBI?: 1 } {
  return alibiBias ? { ALIBI: 1 } : {};
}

/** The first arguments of every attention kernel: rows, queries, and the cache that they attend to. */
export function attentionArgs(
  { q, causalLimit, cache, batch, out }: AttentionOp,
  to: Lowering,
): readonly Operand[] {
  const cells = cellArgs(cache, { ...batch, positions: causalLimit });
  return [to.count(out), q, ...cells, cache.keys, cache.values ?? cache.keys];
}

/** The parameters of the scores, in the order of `SCORE_PARAMETERS`. */
export function scoreArgs(op: AttentionOp, to: Lowering): readonly Operand[] {
  return SCORE_NAMES.map((name) => {
    const value = op[name];
    if (typeof value === 'object') return to.weight([value], FLOAT_LAYOUT);
    if (SCORE_PARAMETERS[name] === 'weight') return NULL;
    return (SCORE_PARAMETERS[name] === 'f32' ? float : int)(value ?? 0);
  });
}

export function lowerKvAppend({ k, v, cache, batch }: KvAppendOp, to: Lowering): void {
  to.launch({
    file: 'kv-append.hip',
    kernel: 'kv_append',
    defines: cacheDefines(cache),
    grid: [to.capacity(k), Math.ceil(Math.max(k.width, v?.width ?? 0) / APPENDED)],
    block: APPENDED,
    args: [
      to.count(k),
      ...cellArgs(cache, batch),
      k,
      int(k.width),
      v ?? NULL,
      int(v?.width ?? 0),
      cache.keys,
      cache.values ?? NULL,
    ],
  });
}

/** How the partitions of a row's context are merged: MERGE of `attention.hip`. */
const MERGE = { none: 0, apart: 1, lastBlock: 2 } as const;

/** The kernels' codes for the forms of results. */
const OUT_TYPE_CODES: Readonly<Record<ActivationForm, number>> = {
  f32: 0,
  q8: 1,
  f16: 2,
  'core-matrices': 2,
};

/** Most partitions of a context: `MAX_PARTITIONS` of `attention-merge.h`. */
export const MAX_PARTITIONS = 128;

/** A kernel that computes attention row by row. */
interface RowKernel {
  readonly file: 'attention.hip' | 'attention-mma.hip' | 'attention-copied.hip';
  /** Query heads of a key head per block. */
  readonly heads: number;
  /** Blocks per multiprocessor that keep it busy when the context of few rows is partitioned. */
  readonly groups: number;
}

/** Size of a head up to which a warp of `attention-copied.hip` has registers for its sums. */
const MAX_SUMMED_HEAD = 256;
/** A multiple of which heads are for it. */
const SUMMED_UNIT = 64;
/** Query heads of a key head that are rows of one product, and how many such products a block has at most. */
const PRODUCT_HEADS = 8;
const MAX_PRODUCTS = 2;

/** The kernel for so many rows on a target: NVIDIA's matrix cores take a cache of f16 and what all key heads see alike. */
export function rowKernel(op: AttentionOp, rows: number, { vendor }: HipCudaTarget): RowKernel {
  const { keys, values } = op.cache;
  const sizes = [op.keySize, op.valueSize];
  const isSummed = sizes.every((size) => size % SUMMED_UNIT === 0 && size <= MAX_SUMMED_HEAD);
  const isPlain = keys.type === 'f16' && values?.type === 'f16' && op.reach === undefined;
  if (vendor === 'nvidia' && isSummed && isPlain) {
    const isWide = Math.max(...sizes) > MAX_SHARING_HEAD;
    const isLong = tableWidth(op.batch) * op.cache.blockSize >= LONG_CONTEXT;
    const isCopied = isWide || isLong || (rows >= COPIED_ROWS && op.heads / op.kvHeads <= COPIED_GROUP);
    if (!isCopied) return { file: 'attention-mma.hip', heads: PRODUCT_HEADS, groups: HELD_THREADS / THREADS };
    return { file: 'attention-copied.hip', heads: MAX_PRODUCTS * PRODUCT_HEADS, groups: mostResident(op) };
  }
  return { file: 'attention.hip', heads: HEADS_AT_ONCE, groups: 2 };
}

/** Blocks that keep a GPU busy when the context of so many rows is partitioned. */
export function wantedBlocks(op: AttentionOp, rows: number, target: HipCudaTarget): number {
  const { file, heads, groups } = rowKernel(op, rows, target);
  // Blocks of most threads, of which a multiprocessor's registers take one: more would come after one another.
  const isAlone = file === 'attention-mma.hip' && rows * headGroups(op, heads) < target.multiprocessors;
  return (isAlone ? 1 : groups) * target.multiprocessors;
}

/** Positions from which on a context is read in parts that are on their way one behind another. */
const LONG_CONTEXT = 2048;
/**
 * Rows from which on, and query heads of a key head up to which, shorter contexts are read so, too: as many rows as fill the GPU several
 * times. 16 lost by it, and mixtures, whose key heads have eight query heads: copies take shared memory from the caches of the kernels
 * around them.
 */
const COPIED_ROWS = 33;
const COPIED_GROUP = 4;

/** Size of a head up to which several blocks of `attention-copied.hip` share a multiprocessor's registers. */
const MAX_SHARING_HEAD = 128;

/** Blocks of `attention-copied.hip` with most threads that share a multiprocessor. */
function mostResident({ keySize, valueSize, heads, kvHeads }: AttentionOp): number {
  const isSmall = Math.max(keySize, valueSize) <= MAX_SHARING_HEAD;
  return isSmall && heads / kvHeads <= PRODUCT_HEADS ? 2 : 1;
}

/** Query heads of one key head that a block of `attention.hip` computes. */
const HEADS_AT_ONCE = 4;

/** Threads per block: more if there are few blocks, so that a context is read at once. */
const THREADS = 128;
const THREADS_OF_FEW = 256;

/** True if there are fewer blocks than multiprocessors but for the partitions of the context. */
function hasFewBlocks({ out, kvHeads }: AttentionOp, to: Lowering): boolean {
  return to.capacity(out) * kvHeads < to.target.multiprocessors;
}

/** Threads of a multiprocessor that `attention-mma.hip` has registers for. */
const HELD_THREADS = 384;
/** With more partitions of them, a block of `attention.hip` that ends has to be followed by one that has begun. */
const FEW_PARTITIONS = 16;

/** How a kernel for attention row by row is launched, beside its grid. */
interface RowShape {
  readonly threads: number;
  readonly sharedBytes: number;
  readonly residentBlocks?: number;
  readonly defines: Readonly<Record<string, number>>;
}

function rowShape(of: AttentionIntent, to: Lowering): RowShape {
  const { op, partitions } = of;
  const { file } = rowKernel(op, to.capacity(op.out), to.target);
  if (file === 'attention-copied.hip') return copiedShape(of, to);
  const few = hasFewBlocks(op, to) && partitions <= FEW_PARTITIONS;
  if (file === 'attention-mma.hip') {
    const threads = few ? THREADS_OF_FEW : THREADS;
    const resident = Math.floor(HELD_THREADS / threads);
    const defines = { CACHE: CACHE_CODES.f16, RESIDENT: resident, OWN_TABLE: hasOwnTable(op) ? 1 : 0 };
    return { threads, sharedBytes: 0, defines };
  }
  const threads = few && vectorsOf(op, THREADS_OF_FEW).length > 0 ? THREADS_OF_FEW : THREADS;
  const defines = {
    ...cacheDefines(op.cache),
    ...latentDefines(op.cache),
    ...(op.reach !== undefined && { REACH: op.reach }),
    VECTOR: vectorsOf(op, threads)[0] ?? 1,
  };
  return { threads, sharedBytes: 0, defines };
}

/** Threads of a warp on NVIDIA's cards, and positions that a warp of `attention-copied.hip` copies at once. */
const WARP = 32;
const TILE = 16;
/** Blocks of `attention-copied.hip` of fewer threads that a multiprocessor has registers for, by the larger size of a head. */
const RESIDENT = { small: 3, large: 2 } as const;

/**
 * The shape of `attention-copied.hip`. Where it has few blocks, no more memory is set aside than they take: the kernels
 * around it want the rest as a cache.
 */
function copiedShape({ op, partitions }: AttentionIntent, to: Lowering): RowShape {
  const { out, keySize, valueSize, heads, kvHeads } = op;
  const isSmall = Math.max(keySize, valueSize) <= MAX_SHARING_HEAD;
  const group = Math.min(heads / kvHeads, MAX_PRODUCTS * PRODUCT_HEADS);
  const queries = 4 * PRODUCT_HEADS * keySize * Math.ceil(group / PRODUCT_HEADS);
  const bytesOf = (threads: number) => {
    const warps = threads / WARP;
    const copied = 2 * TILE * (keySize + valueSize) * warps + queries;
    // What `RowParts` holds for a head: statistics of each part and of all, and the factors of partitions with their sum.
    const statistics = 4 * (2 * warps + 2 + MAX_PARTITIONS + 1) + 4;
    return Math.max(copied, 4 * group * (valueSize + 4) * warps) + group * statistics;
  };
  const fits = bytesOf(THREADS_OF_FEW) + DRIVER_SHARED <= to.target.sharedBytesOptIn;
  const threads = fits && (!isSmall || hasFewBlocks(op, to)) ? THREADS_OF_FEW : THREADS;
  const isFew = threads === THREADS_OF_FEW;
  const blocks = to.capacity(out) * headGroups(op, MAX_PRODUCTS * PRODUCT_HEADS) * partitions;
  const resident = isFew
    ? Math.min(mostResident(op), Math.ceil(blocks / to.target.multiprocessors))
    : RESIDENT[isSmall ? 'small' : 'large'];
  const defines = { CACHE: CACHE_CODES.f16, RESIDENT: resident, OWN_TABLE: hasOwnTable(op) ? 1 : 0 };
  const sharedBytes = bytesOf(threads);
  return { threads, sharedBytes, ...(isFew && { residentBlocks: resident }), defines };
}

/** Elements in 16 bytes of a cache. */
const MAX_VECTOR: Readonly<Record<'f32' | 'f16' | 'q8_0', number>> = { f32: 4, f16: 8, q8_0: 16 };
/** Elements that are decoded at once where keys and values have types of their own. */
const VECTOR_APART = 8;

/** Most elements that a kernel loads from a cache at once. */
export function maxVector(cache: PagedCache): number {
  const { type } = cache.keys;
  if (decodesApart(cache)) return VECTOR_APART;
  return MAX_VECTOR[type === 'f16' || type === 'q8_0' ? type : 'f32'];
}

/** Maximum bytes for the partial results of a block's threads in shared memory. */
const MAX_SUM_BYTES = 40 << 10;
/** Maximum lanes that share a head. */
const MAX_STREAM_LANES = 32;

/** Possible elements per load, most first: at most 16 bytes, a divisor of every head size, with room for the sums. */
function vectorsOf({ cache, keySize, valueSize, heads, kvHeads }: AttentionOp, threads: number): number[] {
  const sums = 4 * threads * Math.min(heads / kvHeads, HEADS_AT_ONCE);
  const fits = (vector: number) => {
    const vectors = Math.max(keySize, valueSize) / vector;
    const own = vector * Math.ceil(vectors / MAX_STREAM_LANES);
    return keySize % vector === 0 && valueSize % vector === 0 && sums * own <= MAX_SUM_BYTES;
  };
  return [16, 8, 4, 2, 1].filter((vector) => vector <= maxVector(cache) && fits(vector));
}

/** `SINGLE_ROW` of the kernels: how they know that earlier positions are cached already, and may be loaded ahead of the launch before. */
function singleRow(op: AttentionOp, to: Lowering): number {
  const rows = to.capacity(op.out);
  // A table of chosen positions is computed by the launch before.
  if (hasOwnTable(op)) return 0;
  if (rows === 1) return 1;
  const sees = rowKernel(op, rows, to.target).file !== 'attention.hip';
  return sees && rows <= WARP ? 2 : 0;
}

/** The definitions with which a kernel for attention row by row is compiled. */
function attentionDefines({ op, form }: AttentionIntent, to: Lowering, { threads, defines }: RowShape) {
  return {
    THREADS: threads,
    SINGLE_ROW: singleRow(op, to),
    ...defines,
    ...alibiDefines(op),
    ...(op.batch.slots.width > 1 && { PLACES: op.batch.slots.width }),
    KEY: op.keySize,
    VALUE: op.valueSize,
    GROUP: op.heads / op.kvHeads,
    OUT_TYPE: OUT_TYPE_CODES[form],
    ...halfDefines(form),
  };
}

/** Attention row by row and, if no workgroup merges the partitions, a launch that does. */
export function emitAttention(of: AttentionIntent, to: Lowering): void {
  const { op, partitions, arrivals, y } = of;
  const { heads, kvHeads, valueSize, out } = op;
  const capacity = to.capacity(out);
  const merge = partitions === 1 ? MERGE.none : arrivals ? MERGE.lastBlock : MERGE.apart;
  const bytes = 4 * capacity * heads * partitions * (valueSize + 2);
  const partials = merge === MERGE.none ? NULL : to.temporary(bytes);
  const { file, heads: atOnce } = rowKernel(op, to.capacity(op.out), to.target);
  const shape = rowShape(of, to);
  to.launch({
    file,
    kernel: 'attention',
    defines: { ...attentionDefines(of, to, shape), MERGE: merge },
    grid: [capacity, headGroups(op, atOnce), partitions],
    block: shape.threads,
    sharedBytes: shape.sharedBytes,
    ...(shape.residentBlocks && { residentBlocks: shape.residentBlocks }),
    args: [
      ...attentionArgs(op, to),
      merge === MERGE.apart ? NULL : y,
      partials,
      arrivals ?? NULL,
      int(capacity),
      int(kvHeads),
      int(partitions),
      ...(op.positions ? [op.positions] : []),
      ...scoreArgs(op, to),
    ],
  });
  if (merge !== MERGE.apart) return;
  to.launch({
    file: 'merge-attention.hip',
    kernel: 'merge_attention',
    defines: { VALUE: valueSize },
    grid: [capacity, heads],
    block: 128,
    args: [to.count(out), partials, y, int(heads), int(partitions), ...scoreArgs(op, to)],
  });
}

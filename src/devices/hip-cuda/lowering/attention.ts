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
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
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
const OUT_TYPE_CODES: Readonly<Record<ActivationForm, number>> = { f32: 0, q8: 1, f16: 2 };

/** Most partitions of a context: `MAX_PARTITIONS` of `attention-merge.h`. */
export const MAX_PARTITIONS = 64;

/** A kernel that computes attention row by row. */
interface RowKernel {
  readonly file: 'attention.hip' | 'attention-mma.hip';
  /** Query heads of a key head per block. */
  readonly heads: number;
  /** Blocks per multiprocessor that keep it busy when the context of few rows is partitioned. */
  readonly groups: number;
}

/** Size of a head up to which a lane of `attention-mma.hip` holds its parts of sixteen positions. */
const MAX_HELD_HEAD = 256;
/** A multiple of which heads are for it. */
const HELD_UNIT = 64;

/** The kernel for the operator on a target: NVIDIA's matrix cores take a cache of f16 and what all key heads see alike. */
export function rowKernel(op: AttentionOp, { vendor }: HipCudaTarget): RowKernel {
  const { keys, values } = op.cache;
  const sizes = [op.keySize, op.valueSize];
  const isHeld = sizes.every((size) => size % HELD_UNIT === 0 && size <= MAX_HELD_HEAD);
  const isPlain = keys.type === 'f16' && values?.type === 'f16' && op.reach === undefined;
  if (vendor === 'nvidia' && isHeld && isPlain) return { file: 'attention-mma.hip', heads: 8, groups: 3 };
  return { file: 'attention.hip', heads: HEADS_AT_ONCE, groups: 2 };
}

/** Query heads of one key head that a block of `attention.hip` computes. */
const HEADS_AT_ONCE = 4;

/** Threads per block: more if there are few blocks, so that a short context is read at once. */
const THREADS = 128;
const THREADS_OF_FEW = 256;
/** With more of them, a block that ends has to be followed by one that has begun. */
const FEW_PARTITIONS = 16;
/** Size of a head up to which more threads have room for their sums in `attention-mma.hip`. */
const MAX_HEAD_OF_FEW = 128;

function threadsFor({ op, partitions }: AttentionIntent, to: Lowering): number {
  const few = to.capacity(op.out) * op.kvHeads < to.target.multiprocessors && partitions <= FEW_PARTITIONS;
  const hasRoom =
    rowKernel(op, to.target).file === 'attention.hip'
      ? vectorsOf(op, THREADS_OF_FEW).length > 0
      : op.valueSize <= MAX_HEAD_OF_FEW;
  return few && hasRoom ? THREADS_OF_FEW : THREADS;
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

/** The definitions with which attention kernels are compiled. */
function attentionDefines(of: AttentionIntent, to: Lowering, merge: number) {
  const { op, form } = of;
  const threads = threadsFor(of, to);
  const own =
    rowKernel(op, to.target).file === 'attention.hip'
      ? { ...cacheDefines(op.cache), ...latentDefines(op.cache), VECTOR: vectorsOf(op, threads)[0] ?? 1 }
      : { CACHE: CACHE_CODES.f16, RESIDENT: residentBlocks(op, threads), OWN_TABLE: hasOwnTable(op) ? 1 : 0 };
  return {
    THREADS: threads,
    // A table of chosen positions is computed by the launch before: nothing can be loaded ahead of it.
    SINGLE_ROW: to.capacity(op.out) === 1 && !hasOwnTable(op) ? 1 : 0,
    ...own,
    ...alibiDefines(op),
    ...(op.reach !== undefined && { REACH: op.reach }),
    ...(op.batch.slots.width > 1 && { PLACES: op.batch.slots.width }),
    KEY: op.keySize,
    VALUE: op.valueSize,
    GROUP: op.heads / op.kvHeads,
    MERGE: merge,
    OUT_TYPE: OUT_TYPE_CODES[form],
  };
}

/** Threads of a multiprocessor that `attention-mma.hip` has registers for, by the larger size of a head. */
const HELD_THREADS = { small: 384, large: 256 } as const;

function residentBlocks({ keySize, valueSize }: AttentionOp, threads: number): number {
  const size = Math.max(keySize, valueSize) <= MAX_HEAD_OF_FEW ? 'small' : 'large';
  return Math.floor(HELD_THREADS[size] / threads);
}

/** Attention row by row and, if no workgroup merges the partitions, a launch that does. */
export function emitAttention(of: AttentionIntent, to: Lowering): void {
  const { op, partitions, arrivals, y } = of;
  const { heads, kvHeads, valueSize, out } = op;
  const capacity = to.capacity(out);
  const merge = partitions === 1 ? MERGE.none : arrivals ? MERGE.lastBlock : MERGE.apart;
  const bytes = 4 * capacity * heads * partitions * (valueSize + 2);
  const partials = merge === MERGE.none ? NULL : to.temporary(bytes);
  const { file, heads: atOnce } = rowKernel(op, to.target);
  to.launch({
    file,
    kernel: 'attention',
    defines: attentionDefines(of, to, merge),
    grid: [capacity, headGroups(op, atOnce), partitions],
    block: threadsFor(of, to),
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

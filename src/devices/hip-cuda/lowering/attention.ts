import { contextShares } from '../../../device/index.ts';
import type { AttentionOp, BatchTensors, KvAppendOp, PagedCache, StateType } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';

/** Heads of one key head that a block computes at once. */
const HEADS_A_BLOCK = 4;
/** Positions that a share of the context has at least. */
const SHORTEST_SHARE = 32;

/** How a cache's elements are stored; the numbers are `paged-cache.h`'s CACHE. */
const CACHE_CODES: Readonly<Record<StateType, number>> = { f32: 0, f16: 1, q8_0: 2, i32: 0 };

export function cacheDefines(cache: PagedCache): { CACHE: number } {
  return { CACHE: CACHE_CODES[cache.keys.type] };
}

/** Where rows' cells in a cache are: slots, positions, block table and how many cells there are, as kernels take them. */
export function cellArgs(
  cache: PagedCache,
  { slots, positions, blocks }: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>,
): readonly Operand[] {
  return [slots, positions, blocks, int(blocks.width), int(cache.blockSize), int(cache.keys.rows)];
}

/** What every kernel for attention takes first: rows, queries, and the cache that they look at. */
export function attentionArgs(
  { q, reach, cache, batch, out }: AttentionOp,
  to: Lowering,
): readonly Operand[] {
  const cells = cellArgs(cache, { ...batch, positions: reach });
  return [to.count(out), q, ...cells, cache.keys, cache.values];
}

/** What becomes of a score, as every kernel for attention takes it. */
export function scoreArgs({ scale, softCap = 0, window = 0 }: AttentionOp): readonly Operand[] {
  return [float(scale), float(softCap), int(window)];
}

export function lowerKvAppend({ k, v, cache, batch }: KvAppendOp, to: Lowering): void {
  to.launch({
    file: 'kv-append.hip',
    kernel: 'kv_append',
    defines: cacheDefines(cache),
    grid: [to.capacity(k)],
    block: 256,
    args: [
      to.count(k),
      ...cellArgs(cache, batch),
      k,
      int(k.width),
      v,
      int(v.width),
      cache.keys,
      cache.values,
    ],
  });
}

/** Blocks that a row's heads take. */
export function headBlocks({ heads, kvHeads }: AttentionOp): number {
  return kvHeads * Math.ceil(heads / kvHeads / HEADS_A_BLOCK);
}

/** In how many shares the context of a row is cut, so that all processors have work even for few rows. */
export function attentionShares(op: AttentionOp, to: Lowering): number {
  const groups = to.capacity(op.out) * headBlocks(op);
  return contextShares(op, { groups, wanted: 2 * to.target.multiprocessors, shortest: SHORTEST_SHARE });
}

/** How the shares of a row's context come together; the numbers are `attention.hip`'s MERGE. */
export const mergeLaunch = { none: 0, apart: 1, lastBlock: 2 } as const;

/** How a kernel leaves activations for the products that read them. */
export type ActivationForm = 'floats' | 'quantized' | 'halves';

const FORM_CODES: Readonly<Record<ActivationForm, number>> = { floats: 0, quantized: 1, halves: 2 };

/** How the shares of a row come together, and where the result goes. */
export interface AttentionPlan {
  readonly shares: number;
  readonly merge: 0 | 1 | 2;
  readonly out: Operand;
  readonly form: ActivationForm;
  readonly partials: Operand;
  readonly arrivals: Operand;
}

/** Threads of a block: more where there are few blocks, so that a short context is read at once. */
const THREADS = 128;
const THREADS_OF_FEW = 256;

function threadsFor(op: AttentionOp, to: Lowering): number {
  return to.capacity(op.out) * op.kvHeads < to.target.multiprocessors ? THREADS_OF_FEW : THREADS;
}

/** Elements in 16 bytes of a cache. */
const MOST_VECTOR: Readonly<Record<StateType, number>> = { f32: 4, f16: 8, q8_0: 16, i32: 4 };
/** The results of a block's threads at most, which come together in shared memory. */
const MOST_SUM_BYTES = 32 << 10;

/** Elements that one load takes: 16 bytes at most, whole in every head. */
function vectorOf(op: AttentionOp, to: Lowering): number {
  const { cache, keySize, valueSize, heads, kvHeads } = op;
  const sums = 4 * threadsFor(op, to) * Math.min(heads / kvHeads, HEADS_A_BLOCK);
  for (let vector = MOST_VECTOR[cache.keys.type]; vector > 1; vector /= 2) {
    const whole = keySize % vector === 0 && valueSize % vector === 0;
    if (whole && sums * vector <= MOST_SUM_BYTES) return vector;
  }
  return 1;
}

export function attentionDefines(op: AttentionOp, to: Lowering, plan: Pick<AttentionPlan, 'merge' | 'form'>) {
  return {
    THREADS: threadsFor(op, to),
    ALONE: to.capacity(op.out) === 1 ? 1 : 0,
    ...cacheDefines(op.cache),
    KEY: op.keySize,
    VALUE: op.valueSize,
    GROUP: op.heads / op.kvHeads,
    VECTOR: vectorOf(op, to),
    MERGE: plan.merge,
    FORM: FORM_CODES[plan.form],
  };
}

/** Bytes of the shares' results. */
export function partialBytes(op: AttentionOp, to: Lowering, shares: number): number {
  return 4 * to.capacity(op.out) * op.heads * shares * (op.valueSize + 2);
}

export function launchAttention(op: AttentionOp, to: Lowering, plan: AttentionPlan): void {
  to.launch({
    file: 'attention.hip',
    kernel: 'attention',
    defines: attentionDefines(op, to, plan),
    grid: [to.capacity(op.out), headBlocks(op), plan.shares],
    block: threadsFor(op, to),
    args: [
      ...attentionArgs(op, to),
      plan.out,
      plan.partials,
      plan.arrivals,
      int(to.capacity(op.out)),
      int(op.kvHeads),
      int(plan.shares),
      ...scoreArgs(op),
    ],
  });
}

export function lowerAttention(op: AttentionOp, to: Lowering): void {
  const shares = attentionShares(op, to);
  const whole = shares === 1;
  const partials = whole ? NULL : to.temporary(partialBytes(op, to, shares));
  launchAttention(op, to, {
    shares,
    merge: whole ? mergeLaunch.none : mergeLaunch.apart,
    out: whole ? op.out : NULL,
    form: 'floats',
    partials,
    arrivals: NULL,
  });
  if (whole) return;
  to.launch({
    file: 'attention.hip',
    kernel: 'merge_attention',
    defines: attentionDefines(op, to, { merge: mergeLaunch.apart, form: 'floats' }),
    grid: [to.capacity(op.out), op.heads],
    block: 128,
    args: [to.count(op.out), partials, op.out, int(op.heads), int(shares)],
  });
}

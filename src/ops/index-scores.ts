import type { Cost } from './cost.ts';
import { decodesApart, type PagedCache } from './paged-cache.ts';
import type { Recorder } from './recorder.ts';
import { STATE_BLOCK } from './state-blocks.ts';
import { type BatchTensors, stateBytes, type Tensor } from './value.ts';

/**
 * The scores by which an indexer chooses the positions that a row attends to (DeepSeek-AI 2025, "DeepSeek-V3.2", the
 * lightning indexer; ggml's `lightning_indexer`): `out[r, p] = sum_h weights[r, h] * max(0, q[r, h] · key[p])` for the
 * positions of the row's sequence up to its own, and 0 beyond it. A position's key is shared by all heads. Without
 * weights, heads are scored apart: `out[r, h, p] = q[r, h] · key[p]` (MiniMax 2026, "MiniMax M3").
 */
export interface IndexScoresOp {
  readonly kind: 'indexScores';
  /** f32 [rows, heads * headSize]. */
  readonly q: Tensor;
  /** f32 [rows, heads], or undefined for scores by head. */
  readonly weights: Tensor | undefined;
  /** Its keys are `headSize` wide; it has no values. */
  readonly cache: PagedCache;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>;
  readonly heads: number;
  readonly headSize: number;
  /** f32 [rows, positions of a sequence], or that for each head. */
  readonly out: Tensor;
}

/** Scores every position for every row: f32 [rows, blocksPerSlot * blockSize], by weighted heads or `heads` times. */
export function indexScores(
  g: Recorder<IndexScoresOp>,
  {
    q,
    cache,
    ...of
  }: Pick<IndexScoresOp, 'q' | 'cache'> & {
    /** I32 [rows, 1]: the last position that a row sees, -1 for none. Default: its own. */
    readonly last?: Tensor;
  } & ({ readonly weights: Tensor } | { readonly heads: number }),
): Tensor {
  const headSize = cache.keys.width;
  const [weights, heads] = 'weights' in of ? [of.weights, of.weights.width] : [undefined, of.heads];
  g.require(q.axis === 'rows' && (weights ?? q).axis === 'rows', 'queries and weights are token rows');
  g.require(q.width === heads * headSize, `queries are ${heads} x ${headSize} wide, not ${q.width}`);
  g.require(cache.values === undefined, 'an indexer has keys only');
  g.require(!decodesApart(cache), 'keys of an indexer have eight bits at least');
  const whole = cache.keys.type !== 'q8_0' || headSize % STATE_BLOCK === 0;
  g.require(whole, `heads of ${headSize} elements are whole blocks of a q8_0 cache`);
  const { blocksPerSlot } = g.shape;
  g.require(
    cache.blocks.axis === 'slots' && cache.blocks.width === blocksPerSlot,
    `the cache's block table has ${blocksPerSlot} blocks for each slot`,
  );
  const lines = weights ? 1 : heads;
  const out = g.temp('indexScores', { axis: 'rows', width: lines * blocksPerSlot * cache.blockSize });
  const batch = { slots: g.batch.slots, positions: of.last ?? g.batch.positions, blocks: cache.blocks };
  g.push({ kind: 'indexScores', q, weights, cache, batch, heads, headSize, out });
  return out;
}

/** Reads the visible keys once per row; a multiply-add per key element and head. */
export function indexScoresCost(op: IndexScoresOp, rows: number, attended: number): Cost {
  const { keys } = op.cache;
  return {
    bytes:
      rows *
      (4 * (op.q.width + (op.weights?.width ?? 0) + attended) + (attended * stateBytes(keys)) / keys.rows),
    flops: 2 * rows * attended * op.q.width,
  };
}

import { invariant } from '../../../base/errors.ts';
import type { AttentionTilesIntent } from '../../../device/index.ts';
import { type AttentionOp, valueStride } from '../../../ops/index.ts';
import type { GpuMatrices, GpuTarget } from '../gpu-target.ts';
import {
  type AttentionTileCounts,
  attentionTilesTexts,
  EMIT_RESULT_FLOATS,
  EMIT_RESULT_HALVES,
} from '../kernels/attention-tiles.ts';
import { octetTexts, PAGED_CACHE } from '../kernels/library/paged-cache.ts';
import { QUAD_TO_HALF } from '../kernels/library/quad-halves.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { cacheArguments, cacheForm, cellArguments, scoreParts } from './attention.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** Subgroups per workgroup. */
const TEAMS = 4;
/** Positions per tile: with more, fewer workgroups fit on a multiprocessor at once. */
const KEYS = 32;

/** Stride of a tile's lines in vectors: `KEY_LINE` and the others of `attentionTilesTexts`. */
function lineVectors(size: number, bytes: number): number {
  return (size * bytes) / 16 + 1;
}

/** Number of vectors of `tile` in `attentionTilesTexts`. */
function tileVectors({ keySize, valueSize }: AttentionOp, { rows, outputs }: GpuMatrices): number {
  const lines = TEAMS * rows;
  const queries = lines * lineVectors(keySize, 2);
  const cached = KEYS * lineVectors(Math.max(keySize, valueSize), 2);
  const scores = lines * (lineVectors(KEYS, 4) + lineVectors(KEYS, 2));
  return Math.max(queries, cached + scores, (lines * outputs) / 4);
}

/** Workgroup memory besides `tile`. */
const otherBytes = ({ lanes }: GpuMatrices) => 4 * KEYS + 4 * TEAMS * lanes + 28;

/** The matrices of a tile, and the part of it that a thread processes. */
function tileCounts({ keySize, valueSize }: AttentionOp, units: GpuMatrices): AttentionTileCounts {
  const { rows, outputs, depth, lanes } = units;
  const rowThreads = lanes / rows;
  return {
    keyParts: keySize / depth,
    keyTiles: KEYS / outputs,
    valueParts: valueSize / outputs,
    weightParts: KEYS / depth,
    rowThreads,
    ownOctets: KEYS / 8 / rowThreads,
    ownQuads: KEYS / 4 / rowThreads,
    ownKeys: (KEYS * keySize) / 8 / (TEAMS * lanes),
    ownValues: (KEYS * valueSize) / 8 / (TEAMS * lanes),
  };
}

/** True if a tile for the operator divides evenly and fits on the target. */
export function fitsTile(op: AttentionOp, { matrices, workgroupBytes }: GpuTarget): boolean {
  if (!matrices) return false;
  const whole = Object.values(tileCounts(op, matrices)).every(Number.isInteger);
  return whole && 16 * tileVectors(op, matrices) + otherBytes(matrices) <= workgroupBytes;
}

/** In what an octet of a cache is read. */
const OCTETS = {
  f32: 'array<vec4<u32>>',
  f16: 'array<vec4<u32>>',
  q8_0: 'array<vec2<u32>>',
  apart: 'array<u32>',
} as const;

/** Attention in tiles on the target's matrix units. */
export function emitAttentionTiles({ op, form, y }: AttentionTilesIntent, to: Lowering): void {
  const { cache, batch, heads, kvHeads } = op;
  const units = to.target.matrices;
  invariant(units, 'only a target with matrix units is given tiles');
  const rows = TEAMS * units.rows;
  const cells = cellArguments(cache, { ...batch, positions: op.causalLimit }, to);
  const scores = scoreParts(op, to);
  const cached = cacheForm(cache);
  to.launch({
    name: 'attention_tiles',
    texts: [
      ...attentionTilesTexts(tileCounts(op, units), loopFor(to.target)),
      form === 'f16' ? EMIT_RESULT_HALVES : EMIT_RESULT_FLOATS,
      ...(form === 'f16' ? [QUAD_TO_HALF] : []),
      units.text,
      ...scores.texts,
      PAGED_CACHE,
      ...octetTexts(cached),
    ],
    constants: {
      COUNT: to.countOf(op.out),
      KEY: op.keySize,
      VALUE: op.valueSize,
      VALUE_STRIDE: valueStride(op),
      KEYS,
      TILE_ROWS: rows,
      TILE_VECTORS: tileVectors(op, units),
      GROUP: heads / kvHeads,
      TOTAL_HEADS: heads,
      KV_HEADS: kvHeads,
      ...scores.constants,
      LANES: units.lanes,
      MATRIX_ROWS: units.rows,
      MATRIX_OUTPUTS: units.outputs,
      MATRIX_DEPTH: units.depth,
      ...cells.constants,
    },
    args: {
      counts: to.counts,
      ...cells.args,
      ...scores.args,
      q: read(op.q, 'array<vec4<f32>>'),
      ...cacheArguments(cache, OCTETS[cached.type]),
      y: write(y, form === 'f16' ? 'array<vec2<u32>>' : 'array<vec4<f32>>'),
    },
    grid: [Math.ceil(to.capacity(op.out) / rows), heads],
  });
}

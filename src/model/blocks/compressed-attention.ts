import { invariant } from '../../base/errors.ts';
import { appendAt, kvAppend } from '../../ops/attention.ts';
import { choosePositions } from '../../ops/choose-positions.ts';
import {
  type CellBlocks,
  type CellPlaces,
  cellPlaces,
  cellsPerBlock,
  compressCells,
  joinCells,
} from '../../ops/compressed-cells.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import { indexScores } from '../../ops/index-scores.ts';
import { matmulHeads } from '../../ops/matmul-heads.ts';
import { type RopePairs, type RopeParameters, ropeTable } from '../../ops/rope.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import { cacheGroup, KV_BLOCK_SIZE } from '../state-groups.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';
import { ropeOfLast } from './rope-of-last.ts';
import { appendRotated, appendRotatedAt, attendRotated } from './rotated-cache.ts';

/**
 * Attention to the last positions and, beyond them, to cells that stand for several positions each (DeepSeek-AI 2026, "DeepSeek
 * V4"): one key head, whose values are the keys. Sizes count elements.
 */
export interface CompressedAttentionSpec {
  readonly heads: number;
  readonly headSize: number;
  /** The last elements of a head, which are rotated; results are rotated back. */
  readonly rotatedSize: number;
  readonly queryLatentSize: number;
  /** Groups of heads that are projected to a latent of `outputRank` each. */
  readonly outputGroups: number;
  readonly outputRank: number;
  readonly window: number;
  readonly norm: Norm;
  readonly rope: {
    readonly pairs: RopePairs;
    /** The stack's tables, and the one that rotates back. */
    readonly table: string;
    readonly inverse: string;
    readonly parameters: RopeParameters;
  };
  /** Undefined in layers that attend to the window alone. */
  readonly cells?:
    | {
        /** Positions of a cell. */
        readonly ratio: number;
        /** Whether a cell also stands for the positions of the one before it. */
        readonly overlaps: boolean;
        /** Chooses cells. Default: rows attend to all. */
        readonly indexer?:
          { readonly heads: number; readonly headSize: number; readonly topK: number } | undefined;
      }
    | undefined;
}

type Cells = NonNullable<CompressedAttentionSpec['cells']>;

/** Attention to a window and to cells. */
export type CompressedAttentionBlock = Block<'compressed-attention', CompressedAttentionSpec>;

/**
 * Creates the block; its weights are `attn_q_a`, `attn_q_a_norm`, `attn_q_b`, `attn_kv`, `attn_kv_a_norm`, `attn_sinks`,
 * `attn_output_a` and `attn_output_b`; with cells `attn_compressor_{kv,gate,ape,norm}`, and with an indexer `indexer.attn_q_b`,
 * `indexer.proj` and `indexer_compressor_{kv,gate,ape,norm}`.
 */
export function compressedAttention(spec: CompressedAttentionSpec): CompressedAttentionBlock {
  const { cells, window } = spec;
  return {
    kind: 'compressed-attention',
    spec,
    state: cells ? [cacheGroup(undefined), cacheGroup(pendingPositions(cells))] : cacheGroup(window),
    record: (scope, x, layer) => recordCompressedAttention(scope, x, spec, layer),
  };
}

/** The last positions of which cells are still to be made. */
function pendingPositions({ ratio, overlaps }: Cells): number {
  return (overlaps ? 2 : 1) * ratio;
}

function recordCompressedAttention(
  scope: PartScope,
  x: Tensor,
  spec: CompressedAttentionSpec,
  layer: LayerInputs,
): Tensor {
  const { g } = scope;
  const { heads, headSize, queryLatentSize, norm, rope: rotation, outputGroups, outputRank } = spec;
  const latent = product(scope, x, 'attn_q_a', queryLatentSize);
  const queryLatent = normalize(scope, latent, { ...norm, name: 'attn_q_a_norm' });
  const query = product(scope, queryLatent, 'attn_q_b', heads * headSize);
  const normed = l2Norm(g, query, { by: 'rms', size: headSize, epsilon: norm.epsilon });
  const key = normalize(scope, product(scope, x, 'attn_kv', headSize), { ...norm, name: 'attn_kv_a_norm' });
  const turn = turnOf(scope, spec, sharedTable(layer, rotation.table));
  const rows = { x, queryLatent, q: turn(normed, headSize), k: turn(key, headSize) };
  const mixed = spec.cells
    ? attendToCells(scope, rows, { ...spec, cells: spec.cells }, layer)
    : attendToWindow(scope, rows, spec, layer);
  const back = turnOf(scope, spec, sharedTable(layer, rotation.inverse))(mixed, headSize);
  const columns = (heads * headSize) / outputGroups;
  const weight = scope.weight('attn_output_a.weight', outputGroups * outputRank, columns);
  return product(scope, matmulHeads(g, back, weight, outputGroups), 'attn_output_b', x.width);
}

function product(scope: PartScope, of: Tensor, name: string, rows: number): Tensor {
  return linear(scope, of, { name, rows, scale: 'never' });
}

function sharedTable({ shared }: Pick<LayerInputs, 'shared'>, name: string): Tensor {
  const table = shared.get(name);
  invariant(table, 'the stack has the tables of its layers');
  return table;
}

/** Rotates the last elements of heads of a size by a table. */
function turnOf(
  { g }: PartScope,
  { rope: { pairs } }: CompressedAttentionSpec,
  table: Tensor,
): (of: Tensor, headSize: number) => Tensor {
  return (of, headSize) => ropeOfLast(g, of, { table, headSize, pairs });
}

/** The rows of a layer, and what is made of them. */
interface Rows {
  readonly x: Tensor;
  readonly queryLatent: Tensor;
  readonly q: Tensor;
  readonly k: Tensor;
}

/** Parameters of the attention itself. */
function parametersOf(scope: PartScope, { heads, headSize }: CompressedAttentionSpec) {
  return {
    ...{ heads, kvHeads: 1, keySize: headSize, valueSize: headSize, scale: 1 / Math.sqrt(headSize) },
    sinks: scope.weight('attn_sinks.weight', 1, heads),
  };
}

function attendToWindow(
  scope: PartScope,
  { q, k }: Rows,
  spec: CompressedAttentionSpec,
  { states }: LayerInputs,
): Tensor {
  const { window, headSize } = spec;
  const sizes = { kvHeads: 1, keySize: headSize, valueSize: headSize };
  const cache = states.pagedCache({ ...sizes, window, latent: true });
  appendRotated(scope.g, cache, sizes, { k });
  return attendRotated(scope.g, q, cache, { ...parametersOf(scope, spec), window });
}

function attendToCells(
  scope: PartScope,
  rows: Rows,
  spec: CompressedAttentionSpec & { readonly cells: Cells },
  layer: LayerInputs,
): Tensor {
  const { g } = scope;
  const { states } = layer;
  const { headSize, cells, window, rope: rotation } = spec;
  const blocks: CellBlocks = { ratio: cells.ratio, positions: KV_BLOCK_SIZE };
  const places = cellPlaces(g, blocks);
  const turnCell = turnOf(scope, spec, ropeTable(g, rotation.parameters, undefined, places.start));
  const cellOf = (name: string, size: number): Tensor => {
    const compressed = recordCell(scope, rows.x, { ...cells, name, size }, states);
    return turnCell(normalize(scope, compressed, { ...spec.norm, name: `${name}_norm` }), size);
  };
  const sizes = { keySize: headSize, valueSize: headSize };
  const cache = states.cellCache(headSize, cellsPerBlock(blocks));
  appendRotatedAt(g, cache, sizes, { k: rows.k, places: places.own });
  appendRotatedAt(g, cache, sizes, { k: cellOf('attn_compressor', headSize), places: places.cell });
  const { indexer } = cells;
  const chosen = indexer && chooseCells({ ...indexer, scope, rows, spec, places }, cellOf, layer, blocks);
  const joined = joinCells(g, { ...blocks, window, chosen, blocks: cache.blocks });
  return attendRotated(g, rows.q, cache, { ...parametersOf(scope, spec), chosen: joined });
}

/** The cell that each row completes: its weights are `<name>_kv`, `<name>_gate` and `<name>_ape`. */
function recordCell(
  scope: PartScope,
  x: Tensor,
  of: Cells & { readonly name: string; readonly size: number },
  states: LayerInputs['states'],
): Tensor {
  const { g } = scope;
  const { name, size, overlaps, ratio } = of;
  const width = overlaps ? 2 * size : size;
  const cache = states.pendingCache(name, width, pendingPositions(of));
  kvAppend(g, cache, product(scope, x, `${name}_kv`, width), product(scope, x, `${name}_gate`, width));
  const bias = scope.weight(`${name}_ape.weight`, ratio, width);
  return compressCells(g, { cache, bias, overlaps, ratio });
}

/** The cells with the largest scores. */
function chooseCells(
  of: NonNullable<Cells['indexer']> & {
    readonly scope: PartScope;
    readonly rows: Rows;
    readonly spec: CompressedAttentionSpec;
    readonly places: CellPlaces;
  },
  cellOf: (name: string, size: number) => Tensor,
  { shared, states }: LayerInputs,
  blocks: CellBlocks,
): Tensor {
  const { scope, rows, spec, places, heads, headSize, topK } = of;
  const { g } = scope;
  const cache = states.indexCellCache(headSize, cellsPerBlock(blocks));
  appendAt(g, cache, { k: cellOf('indexer_compressor', headSize), places: places.index });
  const turn = turnOf(scope, spec, sharedTable({ shared }, spec.rope.table));
  const q = turn(product(scope, rows.queryLatent, 'indexer.attn_q_b', heads * headSize), headSize);
  const weights = product(scope, rows.x, 'indexer.proj', heads);
  const scores = indexScores(g, { q, weights, cache, last: places.last });
  return choosePositions(g, scores, { count: topK, cache, last: places.last }).cells;
}

import { invariant } from '../../base/errors.ts';
import { kvAppend } from '../../ops/attention.ts';
import { type ChosenBlocks, type ChosenPositions, choosePositions } from '../../ops/choose-positions.ts';
import { indexScores } from '../../ops/index-scores.ts';
import { rope, type RopePairs } from '../../ops/rope.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';
import { ropeOfLast } from './rope-of-last.ts';

/** The lightning indexer (DeepSeek-AI 2025, "DeepSeek-V3.2"); sizes count elements. */
export interface IndexerSpec {
  readonly heads: number;
  readonly headSize: number;
  /** Maximum number of positions that a row attends to. */
  readonly topK: number;
  /** The stack's rotary table, for the first values of a head or the last ones (Hy 4). */
  readonly rope: { readonly table: string; readonly pairs: RopePairs; readonly of?: 'last' };
  /** Of the layer norm of keys. Default: DeepSeek's, which files do not give. */
  readonly normEpsilon?: number;
  /** Whether later layers attend to the same positions. */
  readonly shares: boolean;
}

const NORM_EPSILON = 1e-6;

/**
 * An indexer of blocks of positions with a head for each key head, whose positions it chooses apart (MiniMax 2026,
 * "MiniMax M3"); sizes count elements.
 */
export interface BlockIndexerSpec extends ChosenBlocks {
  readonly headSize: number;
  /** Maximum number of blocks that a row attends to. */
  readonly topK: number;
  /** Norm of each head of queries and keys. */
  readonly norm: Norm;
}

/** The names under which a choice is shared with later layers. */
const SHARED = { cells: 'chosen cells', places: 'chosen places', limits: 'chosen limits' } as const;

/** Reads its sizes. Throws `MODEL_CONFIG` if its heads are smaller than what is rotated of them. */
export function readIndexer(
  read: ConfigReader,
  rotatedSize: number,
): Pick<IndexerSpec, 'heads' | 'headSize' | 'topK'> {
  const headSize = read.count('attention.indexer.key_length');
  if (headSize < rotatedSize) {
    read.refuse(
      'attention.indexer.key_length',
      `${headSize}`,
      `at least the ${rotatedSize} that are rotated`,
    );
  }
  const heads = read.count('attention.indexer.head_count');
  return { heads, headSize, topK: read.count('attention.indexer.top_k') };
}

/**
 * Records the choice of the positions that rows attend to. Its weights are `indexer.attn_q_b`, which reads the latent of the
 * queries, `indexer.attn_k` with `indexer.k_norm`, and `indexer.proj`. llama.cpp also rotates queries and keys by a Hadamard
 * matrix and scales the heads' weights; neither changes which scores are the largest.
 */
export function recordIndexer(
  scope: PartScope,
  { x, queryLatent }: { readonly x: Tensor; readonly queryLatent: Tensor },
  { heads, headSize, topK, rope: rotation, shares, normEpsilon = NORM_EPSILON }: IndexerSpec,
  layer: LayerInputs,
): ChosenPositions {
  const { g } = scope;
  const product = (of: Tensor, name: string, rows: number): Tensor =>
    linear(scope, of, { name: `indexer.${name}`, rows, scale: 'never' });
  const table = layer.shared.get(rotation.table);
  invariant(table, 'models with an indexer have a rotary table');
  const rotateHeads = rotation.of === 'last' ? ropeOfLast : rope;
  const rotate = (of: Tensor): Tensor => rotateHeads(g, of, { table, headSize, pairs: rotation.pairs });
  const k = normalize(scope, product(x, 'attn_k', headSize), {
    ...{ kind: 'layer', epsilon: normEpsilon, bias: 'always' },
    name: 'indexer.k_norm',
  });
  const cache = layer.states.indexCache(headSize);
  kvAppend(g, cache, rotate(k));
  const q = rotate(product(queryLatent, 'attn_q_b', heads * headSize));
  const scores = indexScores(g, { q, weights: product(x, 'proj', heads), cache });
  const chosen = choosePositions(g, scores, { count: topK, cache });
  if (shares) for (const part of partsOf(SHARED)) layer.share(SHARED[part], chosen[part]);
  return chosen;
}

/** Reads its sizes, for as many key heads. Throws `MODEL_CONFIG`. */
export function readBlockIndexer(read: ConfigReader, kvHeads: number): Omit<BlockIndexerSpec, 'norm'> {
  const heads = read.count('attention.indexer.head_count');
  if (heads !== kvHeads) {
    read.refuse('attention.indexer.head_count', `${heads}`, `${kvHeads}, one for each key head`);
  }
  const topK = read.count('attention.indexer.top_k');
  const local = read.countOrZero('attention.indexer.local_blocks');
  if (local > topK) read.refuse('attention.indexer.local_blocks', `${local}`, `at most ${topK}`);
  const headSize = read.count('attention.indexer.key_length');
  return { headSize, topK, local, size: read.count('attention.indexer.block_size') };
}

/**
 * Records the choice of the blocks of positions that each key head attends to. Its weights are `indexer.q_proj`,
 * `indexer.q_norm`, `indexer.k_proj` and `indexer.k_norm`; `rotate` rotates heads of a size.
 */
export function recordBlockIndexer(
  scope: PartScope,
  x: Tensor,
  { spec, kvHeads, rotate }: { spec: BlockIndexerSpec; kvHeads: number; rotate: Rotation },
  layer: LayerInputs,
): ChosenPositions {
  const { g } = scope;
  const { headSize, topK, norm, size, local } = spec;
  const project = (name: 'q' | 'k', heads: number): Tensor => {
    const of = linear(scope, x, { name: `indexer.${name}_proj`, rows: heads * headSize, scale: 'never' });
    return rotate(normalize(scope, of, { ...norm, name: `indexer.${name}_norm` }, headSize), headSize);
  };
  const cache = layer.states.indexCache(headSize);
  kvAppend(g, cache, project('k', 1));
  const scores = indexScores(g, { q: project('q', kvHeads), heads: kvHeads, cache });
  const rule = { groups: kvHeads, chosenBlocks: { size, local } };
  return choosePositions(g, scores, { count: topK, cache, ...rule });
}

/** Rotates heads of a size by the rows' positions. */
type Rotation = (of: Tensor, headSize: number) => Tensor;

/** The choice of the last layer that made one. */
export function chosenEarlier({ shared }: LayerInputs): ChosenPositions {
  const part = (name: string): Tensor => {
    const tensor = shared.get(name);
    invariant(tensor, 'an earlier layer has chosen positions');
    return tensor;
  };
  return { cells: part(SHARED.cells), places: part(SHARED.places), limits: part(SHARED.limits) };
}

function partsOf(names: typeof SHARED): (keyof ChosenPositions)[] {
  return Object.keys(names) as (keyof ChosenPositions)[];
}

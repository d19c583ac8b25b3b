import {
  formatGroups,
  type Fusion,
  type GraphUses,
  type HeadOps,
  matchHeads,
  type Temporary,
} from '../../../../device/index.ts';
import type { MatmulOp, Op } from '../../../../ops/index.ts';
import { ADDENDS, FINISH_HEADS, HEAD_ROWS_BY_HALVES, HEAD_ROWS_IN_ORDER } from '../../kernels/finish.ts';
import {
  HEAD_BLOCK_STORES,
  HEAD_STORES,
  STORE_HEADS,
  TURN_HEADS,
  TURN_NOTHING,
} from '../../kernels/head-stores.ts';
import { HEAD_VALUE, HEADS_APPEND, HEADS_APPEND_BLOCKS } from '../../kernels/heads-append.ts';
import { GRID } from '../../kernels/library/grid.ts';
import { blockTexts, type CellType, cacheTexts, PAGED_CACHE } from '../../kernels/library/paged-cache.ts';
import { cacheType, cacheUnit, cellArguments, launchAttention, written } from '../attention.ts';
import { fitsTiles, launchTiles } from '../attention-tiles.ts';
import { lineGrid } from '../line-grid.ts';
import { read, write } from '../launch-plan.ts';
import type { Lowering } from '../lowering.ts';
import { type Finish, finishFloats, launchMatvec, OUTPUTS_A_GROUP } from '../matvec.ts';
import { isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import { FLOAT_LAYOUT } from '../weight-layout.ts';
import { fitsOneChunk } from './fits-one-chunk.ts';
import { formRead } from './form-read.ts';

/**
 * Queries, keys and values as one product (one each for weights of different formats) that turns them and appends to the
 * cache, then attention, its result quantized where an integer product reads it next.
 */
export function fuseAttention(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  const heads = op.kind === 'attention' ? matchHeads(op, uses) : undefined;
  if (!heads || !fits(heads, to)) return undefined;
  return { ops: Object.values(heads), emit: () => launchHeads(heads, uses, to) };
}

/** Asks the same for few rows and many, so that weights are joined alike in all of a model's plans. */
function fits(heads: HeadOps, to: Lowering): boolean {
  const { q, k, v, turnedQ } = heads;
  const groups = formatGroups([q, k, v]).map((group) => group.map(({ weight }) => weight));
  if (!groups.every((weights) => fitsOneChunk(weights, to))) return false;
  const { pairs, table, headSize } = turnedQ;
  const whole = pairs === 'interleaved' || (table.width === headSize && headSize % OUTPUTS_A_GROUP === 0);
  return whole && [q, k, v].every(({ out }) => out.width % OUTPUTS_A_GROUP === 0);
}

function launchHeads(heads: HeadOps, uses: GraphUses, to: Lowering): void {
  const { attention, q, k, v } = heads;
  // A block of the cache may lie in two workgroups of a product: pieces of halves of a head.
  const inProducts = isMatvec(q, to) && attention.cache.keys.type !== 'q8_0';
  for (const group of formatGroups([q, k, v])) {
    if (inProducts) launchGroup(heads, group, to);
    else launchJoined(heads, group, to);
  }
  launchResult(attention, formRead(attention.out, uses, to), to);
}

/** Attention, its result in the form in which products read it, where the kernel can give it. */
export function launchResult(
  op: HeadOps['attention'],
  read: ReturnType<typeof formRead>,
  to: Lowering,
): void {
  const units = fitsTiles(op, to) ? to.target.matrices : undefined;
  if (units) {
    const form = read === 'halves' ? 'halves' : 'floats';
    launchTiles(op, to, {
      units,
      form,
      y: form === 'halves' ? to.activations.provide(op.out, form) : op.out,
    });
    return;
  }
  const form = read === 'quantized' && op.valueSize % 32 === 0 ? 'quantized' : 'floats';
  launchAttention(op, to, { form, y: form === 'quantized' ? to.activations.provide(op.out, form) : op.out });
}

function biasOf(group: readonly MatmulOp[], to: Lowering) {
  const biases = group.flatMap(({ bias }) => (bias ? [bias] : []));
  if (biases.length === 0) return undefined;
  const weight = to.weight(biases, FLOAT_LAYOUT);
  const [chunk] = weight.chunks;
  return chunk && read({ kind: 'chunk', weight, chunk });
}

/** What turning and appending want, for products of some of queries, keys and values. */
function headConstants({ q, k, v, turnedQ }: HeadOps, group: readonly MatmulOp[]) {
  const widthOf = (product: MatmulOp) => (group.includes(product) ? product.out.width : 0);
  return {
    Q_WIDTH: widthOf(q),
    K_WIDTH: widthOf(k),
    V_WIDTH: v.out.width,
    HEAD: turnedQ.headSize,
    TURNED: turnedQ.table.width,
    INTERLEAVED: turnedQ.pairs === 'interleaved',
  };
}

/** What stores keys and values, as far as there are any. */
function storeTexts(type: CellType, { hasK, hasV }: { hasK: boolean; hasV: boolean }): readonly string[] {
  if (type !== 'q8_0') {
    const stores = [
      hasK ? HEAD_STORES.key : HEAD_STORES.noKey,
      hasV ? HEAD_STORES.value : HEAD_STORES.noValue,
    ];
    return [STORE_HEADS, ...stores, ...cacheTexts(type)];
  }
  const { key, noKey, value, noValue } = HEAD_BLOCK_STORES;
  const caches = [...(hasK ? (['keys'] as const) : []), ...(hasV ? (['values'] as const) : [])];
  return [hasK ? key : noKey, hasV ? value : noValue, 'const UNIT = 1u;', ...blockTexts(...caches)];
}

/** What turning and appending take: only what the group's products write. */
function headArguments(heads: HeadOps, group: readonly MatmulOp[], to: Lowering) {
  const { q, k, v, turnedQ, append } = heads;
  const { cache, batch } = append;
  const cells = cellArguments(cache, batch, to);
  const [hasQ, hasK, hasV] = [group.includes(q), group.includes(k), group.includes(v)];
  return {
    constants: cells.constants,
    texts: [
      hasQ ? HEAD_STORES.query : HEAD_STORES.noQuery,
      hasQ || hasK ? TURN_HEADS : TURN_NOTHING,
      ...(hasK || hasV ? [PAGED_CACHE] : []),
      ...storeTexts(cacheType(cache), { hasK, hasV }),
    ],
    args: {
      ...(hasQ || hasK ? { table: read(turnedQ.table) } : {}),
      ...(hasQ ? { y: write(turnedQ.out) } : {}),
      ...(hasK || hasV ? cells.args : {}),
      ...(hasK ? { keys: written(cache, 'keys') } : {}),
      ...(hasV ? { values: written(cache, 'values') } : {}),
    },
  };
}

function launchGroup(heads: HeadOps, group: readonly MatmulOp[], to: Lowering): void {
  const { q, append, turnedQ } = heads;
  cacheUnit(append.cache);
  const addend = biasOf(group, to);
  const bound = headArguments(heads, group, to);
  const finish: Finish = {
    args: { ...(addend ? { addend } : {}), ...bound.args },
    texts: [
      FINISH_HEADS,
      ADDENDS[addend ? 'bias' : 'none'],
      turnedQ.pairs === 'interleaved' ? HEAD_ROWS_IN_ORDER : HEAD_ROWS_BY_HALVES,
      ...bound.texts,
    ],
    constants: { ...headConstants(heads, group), ...bound.constants },
  };
  launchMatvec(to, {
    name: 'heads_matvec',
    x: q.x,
    weights: group.map(({ weight }) => weight),
    parts: 1,
    whole: true,
    finish: () => finish,
  });
}

/** Products of one format as one, their results side by side in rows of `width`. */
export function launchJoinedProduct(
  group: readonly MatmulOp[],
  to: Lowering,
): { readonly memory: Temporary; readonly width: number } {
  const [first] = group as readonly [MatmulOp];
  const width = group.reduce((sum, { out }) => sum + out.width, 0);
  const memory = to.temporary(4 * to.capacity(first.out) * width);
  const addend = biasOf(group, to);
  const weights = group.map(({ weight }) => weight);
  const kind = addend ? 'bias' : 'none';
  if (isMatvec(first, to)) {
    const finish = finishFloats({ y: write(memory), width, addend, kind });
    launchMatvec(to, { name: 'matvec', x: first.x, weights, parts: 1, whole: true, finish });
  } else launchProduct(to, { x: first.x, weights, y: memory, addend, kind });
  return { memory, width };
}

/** One product, then what turns and appends its rows. */
function launchJoined(heads: HeadOps, group: readonly MatmulOp[], to: Lowering): void {
  const { q, append } = heads;
  const isBlocks = append.cache.keys.type === 'q8_0';
  const unit = isBlocks ? 1 : cacheUnit(append.cache);
  const { memory: joined, width } = launchJoinedProduct(group, to);
  const bound = headArguments(heads, group, to);
  const { threads } = to.target;
  to.launch({
    name: 'heads_append',
    texts: [GRID, HEAD_VALUE, isBlocks ? HEADS_APPEND_BLOCKS : HEADS_APPEND, ...bound.texts],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(q.out),
      WIDTH: width,
      ...headConstants(heads, group),
      ...bound.constants,
    },
    args: { counts: to.counts, joined: read(joined), ...bound.args },
    grid: lineGrid(to, Math.ceil((to.capacity(q.out) * width) / unit / threads)),
  });
}

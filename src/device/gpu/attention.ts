import type { AttentionOp, MatmulOp, Op } from '../../ops/index.ts';
import type { Fusion } from './fusion.ts';
import type { ActivationForm, Counters, HeadGroup, JoinedRows } from './intent.ts';
import {
  formatGroups,
  type HeadOps,
  matchHeads,
  matchNormedHeads,
  type NormedHeadOps,
} from './match-heads.ts';
import type { GpuPlanner } from './planner.ts';
import { isMatvec, planMatvec, planProduct, takesEpilogues } from './products.ts';

/** Heads of one key head that a group of threads computes at once. */
export const HEADS_AT_ONCE = 4;
/** Outputs of a product that a group of threads computes: what is done with them has to be whole in it. */
const OUTPUTS_AT_ONCE = 32;
/** Buffers of what norms, rotates and appends heads, beside those with the products' results: factors, table, cells, caches. */
const HEAD_NORM_BUFFERS = 6;
/** Elements of a quantized group: a group of threads leaves whole ones. */
const GROUP = 32;
/** With fewer rows a sequence, a tile would be mostly empty. */
const LEAST_TILE_ROWS_A_SLOT = 4;
/** More partitions take longer to be merged than they save. */
const MOST_PARTITIONS = 16;

/** Groups of threads that a row's heads take. */
export function headGroups({ heads, kvHeads }: AttentionOp): number {
  return kvHeads * Math.ceil(heads / kvHeads / HEADS_AT_ONCE);
}

/** Attention to be launched behind what appends to its cache. */
interface PlannedAttention {
  /** Counters that a launch before has to zero. */
  readonly zeroed: Counters | undefined;
  plan(): void;
}

/** Attention by itself: nothing before it zeroes counters. */
export function planAttention(op: AttentionOp, to: GpuPlanner): void {
  attentionInForm(op, to, { wanted: 'f32', zeroes: false }).plan();
}

function attentionInForm(
  op: AttentionOp,
  to: GpuPlanner,
  { wanted, zeroes }: { wanted: ActivationForm; zeroes: boolean },
): PlannedAttention {
  const { rowForms, tileForms, mergesInLastGroup } = to.facts.attention;
  const tileForm = [wanted, 'f32' as const].find((form) => tileForms.includes(form));
  if (tileForm && fitsTiles(op, to)) {
    const plan = () =>
      to.add({ kind: 'attentionTiles', op, y: to.activations.place(op.out, tileForm), form: tileForm });
    return { zeroed: undefined, plan };
  }
  const form = rowForms.includes(wanted) && op.valueSize % GROUP === 0 ? wanted : 'f32';
  const partitions = partitionsOf(op, to);
  const count = to.capacity(op.out) * headGroups(op);
  const inLast = partitions > 1 && mergesInLastGroup && zeroes;
  const zeroed = inLast ? { memory: to.temporary(4 * count), count } : undefined;
  const plan = () =>
    to.add({
      kind: 'attention',
      op,
      partitions,
      arrivals: zeroed?.memory,
      y: to.activations.place(op.out, form),
      form,
    });
  return { zeroed, plan };
}

/** In how many partitions the context of a row is cut, so that a GPU has work even for few rows. */
function partitionsOf(op: AttentionOp, to: GpuPlanner): number {
  const { wantedGroups, shortestPartition } = to.facts.attention;
  const { cache, batch, window = Number.POSITIVE_INFINITY } = op;
  const context = Math.min(window, batch.blocks.width * cache.blockSize);
  const wanted = Math.floor(wantedGroups / (to.capacity(op.out) * headGroups(op)));
  return Math.max(1, Math.min(wanted, MOST_PARTITIONS, Math.ceil(context / shortestPartition)));
}

/** True for attention of many rows a sequence over a cache of f16 or blocks, where the target has tiles for it. */
function fitsTiles(op: AttentionOp, to: GpuPlanner): boolean {
  const many = !to.hasFewRows(op.out) && to.capacity(op.out) >= LEAST_TILE_ROWS_A_SLOT * to.graph.shape.slots;
  const stored = op.cache.keys.type !== 'f32';
  return to.has('attentionTiles') && many && stored && to.facts.attention.fitsTile(op);
}

/**
 * Queries, keys and values as one product (one each for weights of different formats) that rotates them and appends to the
 * cache, then attention, its result in the form in which products read it next.
 */
export function fuseHeads(op: Op, to: GpuPlanner): Fusion | undefined {
  const heads = op.kind === 'attention' ? matchHeads(op, to.uses) : undefined;
  if (!heads || !fitsHeads(heads, to)) return undefined;
  return { ops: Object.values(heads), plan: () => planHeads(heads, to) };
}

/** Asks the same for few rows and many, so that weights are joined alike in all of a model's plans. */
function fitsHeads({ q, k, v, rotatedQ }: HeadOps, to: GpuPlanner): boolean {
  const { pairs, table, headSize } = rotatedQ;
  const whole = pairs === 'interleaved' || (table.width === headSize && headSize % OUTPUTS_AT_ONCE === 0);
  const widths = [q, k, v].every(({ out }) => out.width % OUTPUTS_AT_ONCE === 0);
  return whole && widths && canJoin([q, k, v], to);
}

/** Whether those of the products that have one format can be one product each. */
function canJoin(products: readonly MatmulOp[], to: GpuPlanner): boolean {
  const groups = formatGroups(products).map((group) => group.map(({ weight }) => weight));
  return groups.every((weights) => takesEpilogues(weights, to) && to.facts.joins(weights));
}

function planHeads(heads: HeadOps, to: GpuPlanner): void {
  const { q, k, v, attention } = heads;
  const mixed = attentionInForm(attention, to, {
    wanted: to.activations.formLeft(attention.out),
    zeroes: true,
  });
  const appends = appendsInProducts(heads, to);
  formatGroups([q, k, v]).forEach((group, i) => {
    const of = { heads, group, zeroed: i === 0 ? mixed.zeroed : undefined };
    if (appends) planMatvec(to, { x: q.x, weights: weightsOf(group), epilogue: { kind: 'heads', of } });
    else planJoined(of, to);
  });
  mixed.plan();
}

/**
 * True where single products rotate and append what they compute. The blocks of a quantized cache must be whole in a group of
 * threads, which they are not where it has pieces of two halves of a head.
 */
function appendsInProducts({ q, rotatedQ, append }: HeadOps, to: GpuPlanner): boolean {
  const { appendsBlocks } = to.facts.attention;
  const whole = append.cache.keys.type !== 'q8_0' || rotatedQ.pairs === appendsBlocks;
  return isMatvec(q.x, [q.weight], to) && whole;
}

function weightsOf(group: readonly MatmulOp[]) {
  return group.map(({ weight }) => weight);
}

/** One product, then what rotates and appends its rows. */
function planJoined(of: HeadGroup, to: GpuPlanner): void {
  const { memory: joined, width } = planRows(of.group, to);
  to.add({ kind: 'headsAppend', of, joined, width });
}

/** The products as one, whose rows stand one beside the other in scratch. */
function planRows(group: readonly MatmulOp[], to: GpuPlanner) {
  const [{ x, out }] = group as [MatmulOp];
  const width = group.reduce((sum, product) => sum + product.out.width, 0);
  const memory = to.temporary(4 * to.capacity(out) * width);
  const biases = group.flatMap(({ bias }) => (bias ? [bias] : []));
  planProduct(to, { x, weights: weightsOf(group), epilogue: { kind: 'store', y: memory, biases } });
  return { memory, width };
}

/** Queries, keys and values as one product a format, then one launch that norms, rotates and appends heads, then attention. */
export function fuseNormedHeads(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'attention' || !to.has('headsNormAppend')) return undefined;
  const found = matchNormedHeads(op, to.uses);
  if (!found || !fitsNormedHeads(found, to)) return undefined;
  const { q, k, v, append } = found;
  const heads = [q, k].flatMap(({ product, norm, rotated }) => [product, norm, rotated]);
  return { ops: [...heads, v, append, op], plan: () => planNormedHeads(found, to) };
}

/** True where one launch can bind the products' results beside its own buffers, and a cache's blocks are whole in heads. */
function fitsNormedHeads({ q, k, v, append, attention }: NormedHeadOps, to: GpuPlanner): boolean {
  const products = [q.product, k.product, v];
  const heads = [attention.keySize, attention.valueSize];
  const whole = append.cache.keys.type !== 'q8_0' || heads.every((size) => size % GROUP === 0);
  const buffers = formatGroups(products).length + HEAD_NORM_BUFFERS;
  return whole && buffers <= to.facts.buffers && canJoin(products, to);
}

function planNormedHeads(heads: NormedHeadOps, to: GpuPlanner): void {
  const { q, k, v, attention } = heads;
  const mixed = attentionInForm(attention, to, {
    wanted: to.activations.formLeft(attention.out),
    zeroes: true,
  });
  const places = new Map<MatmulOp, JoinedRows>();
  for (const group of formatGroups([q.product, k.product, v])) {
    const { memory, width } = planRows(group, to);
    let start = 0;
    for (const product of group) {
      places.set(product, { memory, stride: width, start });
      start += product.out.width;
    }
  }
  const [ofQ, ofK, ofV] = [q.product, k.product, v].map((product) => places.get(product) as JoinedRows) as [
    JoinedRows,
    JoinedRows,
    JoinedRows,
  ];
  to.add({ kind: 'headsNormAppend', heads, joined: { q: ofQ, k: ofK, v: ofV }, zeroed: mixed.zeroed });
  mixed.plan();
}

import { type AttentionOp, hasOwnTable, type MatmulOp, type Op, tableWidth } from '../../ops/index.ts';
import { joinsNumbers, planJoinedNumbers } from './element-products.ts';
import { groupedForm } from './experts.ts';
import type { Fusion } from './fusion.ts';
import { roundedFor } from './half-products.ts';
import type { ActivationForm, Counters, HeadGroup, HeadsNormAppendIntent, JoinedRows } from './intent.ts';
import { formatGroups, type HeadColumns, type HeadOps, matchHeads, productsOf } from './match-heads.ts';
import type { GpuPlanner } from './planner.ts';
import { isMatvec, planMatvec, planProduct, takesEpilogues } from './products.ts';

/** Outputs of a product per workgroup: its epilogue must not need more. */
const OUTPUTS_AT_ONCE = 32;
/**
 * Buffers that normalizing, rotating and appending heads binds, besides the products' results: factors, table, cells,
 * caches.
 */
const HEAD_NORM_BUFFERS = 6;
/** Elements of a quantized group: workgroups write whole groups. */
const GROUP = 32;
/** With fewer rows per sequence, a tile would be mostly empty. */
const MIN_TILE_ROWS_PER_SLOT = 4;
/** Merging more partitions takes longer than they save, unless they are as long as `LONG_PARTITION`. */
const USUAL_PARTITIONS = 16;
/** Positions. */
const LONG_PARTITION = 256;

/** Number of workgroups for a row's heads, `atOnce` of a key head each. */
export function headGroups({ heads, kvHeads }: AttentionOp, atOnce: number): number {
  return kvHeads * Math.ceil(heads / kvHeads / atOnce);
}

/** Number of workgroups for all rows, without partitions. */
function workgroupsOf(op: AttentionOp, to: GpuPlanner): number {
  const rows = to.capacity(op.out);
  return rows * headGroups(op, to.facts.attention.headsAtOnce(op, rows));
}

/** Attention that is launched after the operators that append to its cache. */
interface PlannedAttention {
  /** Counters that an earlier launch has to zero. */
  readonly zeroed: Counters | undefined;
  plan(): void;
}

/** Attention by itself, without an earlier launch that zeroes counters. */
export function planAttention(op: AttentionOp, to: GpuPlanner): void {
  attentionInForm(op, to, { ...formRead(op, to), zeroes: false }).plan();
}

/** The form in which attention's result is read, and of how many parts that are padded each its rows are. */
interface WantedForm {
  readonly wanted: ActivationForm;
  readonly parts?: number;
}

function formRead(op: AttentionOp, to: GpuPlanner): WantedForm {
  const reader = to.uses.onlyReader(op.out);
  // Whole units need no padding, so that heads by themselves lie as they do in a row.
  const byHead = reader?.kind === 'matmulHeads' && op.valueSize % to.facts.f16RowUnit === 0;
  if (byHead && groupedForm(reader, to) === 'f16') return { wanted: 'f16', parts: op.heads };
  return { wanted: to.activations.formLeft(op.out) };
}

function attentionInForm(
  op: AttentionOp,
  to: GpuPlanner,
  { wanted, parts, zeroes }: WantedForm & { readonly zeroes: boolean },
): PlannedAttention {
  const { rowForms, tileForms, mergesInLastGroup } = to.facts.attention;
  const isTiled = fitsTiles(op, to);
  const rounded = roundedFor(op.out, to);
  const roundedForm = rounded && (`rounded-${rounded}` as const);
  if (isTiled && rounded && roundedForm && tileForms.includes(roundedForm)) {
    const plan = () => {
      const { memory } = to.activations.provideRounded(op.out, rounded);
      to.add({ kind: 'attentionTiles', op, y: memory, form: roundedForm });
    };
    return { zeroed: undefined, plan };
  }
  const tileForm = [wanted, 'f32' as const].find((form) => tileForms.includes(form));
  if (tileForm && isTiled) {
    const plan = () =>
      to.add({
        kind: 'attentionTiles',
        op,
        y: to.activations.place(op.out, tileForm, parts),
        form: tileForm,
      });
    return { zeroed: undefined, plan };
  }
  const partitions = partitionsOf(op, to);
  const count = workgroupsOf(op, to);
  const inLast = partitions > 1 && mergesInLastGroup && zeroes;
  // Where the last workgroup can merge, launches that only merge write f32.
  const writesForms = (partitions === 1 || inLast || !mergesInLastGroup) && op.valueSize % GROUP === 0;
  const form = writesForms && rowForms.includes(wanted) ? wanted : 'f32';
  const zeroed = inLast ? { memory: to.temporary(4 * count), count } : undefined;
  const plan = () =>
    to.add({
      kind: 'attention',
      op,
      partitions,
      arrivals: zeroed?.memory,
      y: to.activations.place(op.out, form, parts),
      form,
    });
  return { zeroed, plan };
}

/** The number of partitions of a row's context, which keep a GPU busy even with few rows (split-KV). */
function partitionsOf(op: AttentionOp, to: GpuPlanner): number {
  const facts = to.facts.attention;
  const { cache, batch, reach = Number.POSITIVE_INFINITY } = op;
  const { chunk = 2 * reach + 1, window = chunk } = op;
  const context = Math.min(window, tableWidth(batch) * cache.blockSize);
  const wanted = Math.floor(facts.wantedGroups(op, to.capacity(op.out)) / workgroupsOf(op, to));
  const usual = Math.min(USUAL_PARTITIONS, Math.ceil(context / facts.shortestPartition));
  const long = Math.min(facts.mostPartitions, Math.ceil(context / LONG_PARTITION));
  return Math.max(1, Math.min(wanted, Math.max(usual, long)));
}

/** True for attention with many rows per sequence over a cache of f16 or blocks, if the target has tiles for it. */
function fitsTiles(op: AttentionOp, to: GpuPlanner): boolean {
  const many = !to.hasFewRows(op.out) && to.capacity(op.out) >= MIN_TILE_ROWS_PER_SLOT * to.graph.shape.slots;
  const { keys, values = keys } = op.cache;
  // Nor do rows with positions of their own have a tile's keys in common.
  const stored = keys.type !== 'f32' && values.type !== 'f32' && !hasOwnTable(op);
  // Rows of a tile with a reach would see different first and last positions.
  const isOneSided = op.reach === undefined;
  return to.has('attentionTiles') && many && stored && isOneSided && to.facts.attention.fitsTile(op);
}

/**
 * Fuses the Q, K and V products into one (or one per weight format) that also rotates and appends to the cache, or
 * followed by one launch that does that or also normalizes heads; then attention, with its result in the form in which products read
 * it.
 */
export function fuseHeads(op: Op, to: GpuPlanner): Fusion | undefined {
  // What chooses a row's positions runs between the products and attention.
  const fits = op.kind === 'attention' && !hasOwnTable(op);
  const heads = fits ? matchHeads(op, to.graph.ops, to.uses) : undefined;
  if (!heads || !(canJoin(productsOf(heads), to) || joinsHeads(heads, to))) return undefined;
  const { norms, rotation, ops } = heads;
  if (!norms || !rotation) return { ops, plan: () => planHeads(heads, to) };
  if (!to.has('headsNormAppend') || !fitsHeadNorms(heads, to)) return undefined;
  return { ops, plan: () => planNormedHeads({ heads, norms, rotation }, to) };
}

/** Whether products with the same format can be joined; the same for few rows and many. */
function canJoin(products: readonly MatmulOp[], to: GpuPlanner): boolean {
  const groups = formatGroups(products).map((group) => group.map(({ weight }) => weight));
  return groups.every((weights) => takesEpilogues(weights, to) && to.facts.joins(weights));
}

/** Whether one launch of few rows computes the products: one that adds no biases but those of whole products. */
function joinsHeads(heads: HeadOps, to: GpuPlanner): boolean {
  const { q, k, v } = heads;
  return ![q, k, v].some(({ bias }) => bias) && joinsNumbers(productsOf(heads), to);
}

/** The products of heads by the launches that compute them. */
function launchesOf(heads: HeadOps, to: GpuPlanner): readonly (readonly MatmulOp[])[] {
  const products = productsOf(heads);
  return canJoin(products, to) ? formatGroups(products) : [products];
}

function planHeads(heads: HeadOps, to: GpuPlanner): void {
  const { q, attention } = heads;
  const mixed = attentionInForm(attention, to, {
    wanted: to.activations.formLeft(attention.out),
    zeroes: true,
  });
  const appends = appendsInProducts(heads, to);
  launchesOf(heads, to).forEach((group, i) => {
    const of = headGroup(heads, group, i === 0 ? mixed.zeroed : undefined);
    if (appends) planMatvec(to, { x: q.product.x, weights: of.weights, epilogue: { kind: 'heads', of } });
    else {
      const { memory: joined, width } = planRows(group, of, to);
      to.add({ kind: 'headsAppend', of, joined, width });
    }
  });
  mixed.plan();
}

function headGroup(heads: HeadOps, group: readonly MatmulOp[], zeroed: Counters | undefined): HeadGroup {
  const columns = [heads.q, heads.k, heads.v];
  const widthOf = ({ product, width }: HeadColumns) => (group.includes(product) ? width : 0);
  const widths = { q: widthOf(heads.q), k: widthOf(heads.k), v: widthOf(heads.v) };
  const biases = group.flatMap((product) =>
    product.bias
      ? [product.bias]
      : columns.flatMap((own) => (own.product === product && own.bias ? [own.bias] : [])),
  );
  return { heads, weights: group.map(({ weight }) => weight), biases, widths, zeroed };
}

/**
 * True if single products can rotate and append their results: pairs must be complete within a workgroup, and so must
 * the blocks of a quantized cache, which they are not if a workgroup has pieces of both halves of a head.
 */
function appendsInProducts({ q, k, v, rotation, append }: HeadOps, to: GpuPlanner): boolean {
  if (!isMatvec(q.product.x, [q.product.weight], to)) return false;
  const inOrder = !rotation || rotation.pairs === 'interleaved';
  const byHalves =
    rotation?.table.width === rotation?.headSize && (rotation?.headSize ?? 0) % OUTPUTS_AT_ONCE === 0;
  const widths = [q, k, v].every(({ width }) => width % OUTPUTS_AT_ONCE === 0);
  const blocks =
    append.cache.keys.type !== 'q8_0' || (inOrder && to.facts.attention.appendsBlocks === 'interleaved');
  return (inOrder || byHalves) && widths && blocks;
}

/** Plans products of one tensor as one, with their rows side by side in scratch. */
function planRows(
  products: readonly MatmulOp[],
  { weights, biases }: Pick<HeadGroup, 'weights' | 'biases'>,
  to: GpuPlanner,
) {
  const [{ x }] = products as [MatmulOp];
  const width = weights.reduce((sum, { rows }) => sum + rows, 0);
  const memory = to.temporary(4 * to.capacity(x) * width);
  if (!takesEpilogues(weights, to)) planJoinedNumbers(products, { memory, width }, to);
  else planProduct(to, { x, weights, epilogue: { kind: 'store', y: memory, biases } });
  return { memory, width };
}

/**
 * True if one launch can bind the products' results besides its own buffers, and heads are whole blocks of the cache.
 */
function fitsHeadNorms(heads: HeadOps, to: GpuPlanner): boolean {
  const { append, attention } = heads;
  const sizes = [attention.keySize, attention.valueSize];
  const whole = append.cache.keys.type !== 'q8_0' || sizes.every((size) => size % GROUP === 0);
  return whole && formatGroups(productsOf(heads)).length + HEAD_NORM_BUFFERS <= to.facts.buffers;
}

function planNormedHeads(
  of: Pick<HeadsNormAppendIntent, 'heads' | 'norms' | 'rotation'>,
  to: GpuPlanner,
): void {
  const { heads } = of;
  const { q, k, v, attention } = heads;
  const mixed = attentionInForm(attention, to, {
    wanted: to.activations.formLeft(attention.out),
    zeroes: true,
  });
  const places = new Map<MatmulOp, JoinedRows>();
  for (const group of launchesOf(heads, to)) {
    const { memory, width } = planRows(group, headGroup(heads, group, undefined), to);
    let start = 0;
    for (const product of group) {
      places.set(product, { memory, stride: width, start });
      start += product.out.width;
    }
  }
  const rowsOf = ({ product, first }: HeadColumns): JoinedRows => {
    const place = places.get(product) as JoinedRows;
    return { ...place, start: place.start + first };
  };
  const joined = { q: rowsOf(q), k: rowsOf(k), v: rowsOf(v) };
  to.add({ kind: 'headsNormAppend', ...of, joined, zeroed: mixed.zeroed });
  mixed.plan();
}

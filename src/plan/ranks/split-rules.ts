import { applyByKind } from '../../base/kind-table.ts';
import {
  type AttentionOp,
  type BinaryOp,
  hasOwnTable,
  type KvAppendOp,
  type MatmulExpertsOp,
  type MatmulOp,
  type Op,
  type OpGraph,
  operandsOf,
  type OpTable,
  readsOwnPart,
  resultsOf,
  type SliceOp,
  STATE_BLOCK,
  isBlockType,
  type State,
  type Tensor,
} from '../../ops/index.ts';
import type { Section, SplitClasses } from './split-classes.ts';

/**
 * How a tensor's columns are made up: `repeat` times its sections one after another. An ordinary tensor is one section, once; the
 * results of a row's chosen experts stand side by side, and some products stack queries, keys and values.
 */
export interface Layout {
  readonly repeat: number;
  readonly sections: readonly (Section | Tensor)[];
}

/** A product whose input is split, which the ranks can compute by columns if the weight's blocks allow as many parts. */
export interface ColumnProduct {
  readonly op: MatmulOp | MatmulExpertsOp;
  /** What its input is. */
  readonly input: Section | Tensor;
  /** Whole blocks in a row of the weight. */
  readonly blocks: number;
}

/** What the operators of a graph say about how their operands are cut. */
export class GraphSplit {
  readonly products: ColumnProduct[] = [];
  readonly #layouts = new Map<Tensor, Layout>();
  /** By tensor: the operators that read it. */
  readonly #readers = new Map<Tensor, Op[]>();
  readonly #outputs: ReadonlySet<Tensor>;

  /** Attention among `apart` cuts its queries finer than its keys. */
  constructor(
    readonly graph: OpGraph,
    readonly classes: SplitClasses,
    readonly apart: ReadonlySet<AttentionOp>,
  ) {
    this.#outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
    for (const op of graph.ops) {
      for (const operand of operandsOf(op)) {
        if (operand.kind === 'tensor')
          this.#readers.set(operand, [...(this.#readers.get(operand) ?? []), op]);
      }
    }
    classes.whole(...graph.inputs);
    for (const op of graph.ops) applyByKind(SPLIT_RULES, op, this);
    classes.whole(...graph.outputs.map(({ tensor }) => tensor));
  }

  layoutOf(tensor: Tensor): Layout {
    return this.#layouts.get(tensor) ?? { repeat: 1, sections: [tensor] };
  }

  /** Gives a result as many repetitions as it has. */
  repeats(tensor: Tensor, repeat: number): void {
    if (repeat === 1) return;
    const section: Section = { kind: 'section', offset: 0, width: tensor.width / repeat };
    this.#layouts.set(tensor, { repeat, sections: [section] });
  }

  /** The only section of a tensor; undefined for one that stacks several. */
  sectionOf(tensor: Tensor): Section | Tensor | undefined {
    const { sections } = this.layoutOf(tensor);
    return sections.length === 1 ? sections[0] : undefined;
  }

  /** These are not cut. */
  whole(...values: readonly (Tensor | State | undefined)[]): void {
    for (const value of values) {
      if (value?.kind === 'tensor') this.classes.whole(...this.layoutOf(value).sections);
      else if (value) this.classes.whole(value);
    }
  }

  /** These are cut alike, into parts of which each repetition has `parts`; they are not cut if their repetitions differ. */
  alike(tensors: readonly Tensor[], parts?: number): void {
    const [first] = tensors;
    const { repeat } = this.layoutOf(first as Tensor);
    const sections = tensors.map((tensor) => this.sectionOf(tensor));
    const isOne = tensors.every((tensor) => this.layoutOf(tensor).repeat === repeat);
    if (!isOne || sections.includes(undefined)) return this.whole(...tensors);
    const known = sections.filter((section) => section !== undefined);
    for (const section of known) this.classes.divides(section, section.width);
    this.classes.same(...known);
    if (parts !== undefined) this.classes.divides(known[0] as Section, parts);
    return undefined;
  }

  /**
   * The sections of a product's result that is only read by slices, which together are all of each repetition; otherwise all of
   * it is one.
   */
  stacks(out: Tensor, repeat: number): void {
    const width = out.width / repeat;
    const readers = this.#readers.get(out) ?? [];
    const slices = readers.filter((op): op is SliceOp => op.kind === 'slice' && isSection(op, repeat, width));
    const sorted = [...new Map(slices.map((op) => [op.offset, op])).values()].sort(
      (a, b) => a.offset - b.offset,
    );
    let end = 0;
    const isCover = sorted.every(({ offset, segmentWidth }) => {
      const follows = offset === end;
      end = offset + segmentWidth;
      return follows;
    });
    const isStack = readers.length === slices.length && isCover && end === width && sorted.length > 1;
    if (!isStack || this.#outputs.has(out)) return this.repeats(out, repeat);
    const sections = sorted.map(({ offset, segmentWidth }): Section => ({
      kind: 'section',
      offset,
      width: segmentWidth,
    }));
    this.#layouts.set(out, { repeat, sections });
    return undefined;
  }
}

/** Whether a slice is the same columns of each repetition. */
function isSection({ x, out, segmentWidth, stride }: SliceOp, repeat: number, width: number): boolean {
  return out.width === repeat * segmentWidth && (repeat === 1 ? x.width === width : stride === width);
}

/** The rule of operators that every rank computes whole. */
function whole(op: Op, split: GraphSplit): void {
  const values = [...operandsOf(op), ...resultsOf(op)];
  split.whole(...values.filter((value) => value.kind !== 'weight'));
}

/** The rule of functions of single elements. */
function elementwise({ x, out }: { readonly x: Tensor; readonly out: Tensor }, split: GraphSplit): void {
  split.repeats(out, split.layoutOf(x).repeat);
  split.alike([x, out]);
}

/** The rule of functions of groups of so many values. */
function grouped(
  op: { readonly x: Tensor; readonly out: Tensor; readonly size: number },
  split: GraphSplit,
): void {
  split.alike([op.x, op.out], op.x.width / op.size);
}

function splitBinary({ a, b, out }: BinaryOp, split: GraphSplit): void {
  const { repeat } = split.layoutOf(a);
  split.repeats(out, repeat);
  split.alike([a, out]);
  if (b.kind === 'weight') {
    if (b.columns !== 1 && b.columns !== a.width) split.alike([a], repeat === 1 ? b.columns : 1);
  } else if (b.width === 1) split.whole(b);
  else split.alike([a, b], b.width === a.width ? undefined : b.width);
}

/** A product reads an input of so many repetitions. */
function readBy(op: MatmulOp | MatmulExpertsOp, repeat: number, split: GraphSplit): void {
  const { x, weight } = op;
  const input = split.sectionOf(x);
  const isCuttable = input && split.layoutOf(x).repeat === repeat;
  if (isCuttable) split.products.push({ op, input, blocks: weight.columns / weight.format.blockElements });
  else split.whole(x);
}

function splitMatmul(op: MatmulOp, split: GraphSplit): void {
  const { out } = op;
  readBy(op, 1, split);
  split.stacks(out, 1);
}

function splitMatmulExperts(op: MatmulExpertsOp, split: GraphSplit): void {
  const { expertIds, out } = op;
  split.whole(expertIds);
  readBy(op, readsOwnPart(op) ? expertIds.width : 1, split);
  split.stacks(out, expertIds.width);
  // Of their own parts the ranks compute parts of sums.
  if (readsOwnPart(op)) split.whole(out);
}

function splitSlice(op: SliceOp, split: GraphSplit): void {
  const { x, out, offset, segmentWidth, stride } = op;
  const { repeat, sections } = split.layoutOf(x);
  if (sections.length > 1) {
    split.repeats(out, repeat);
    const own = sections.find((section) => section.kind === 'section' && section.offset === offset);
    const section = split.sectionOf(out);
    if (own && section) split.classes.same(own, section);
    return;
  }
  const segments = out.width / segmentWidth;
  if (repeat !== 1 || segments === 1 || segments * stride !== x.width) whole(op, split);
  else split.alike([x, out], segments);
}

function splitKvAppend(op: KvAppendOp, split: GraphSplit): void {
  const { k, v, cache } = op;
  const pair = (of: Tensor, state: State) => {
    split.alike([of]);
    const section = split.sectionOf(of);
    if (split.layoutOf(of).repeat !== 1 || !section) return split.whole(of, state);
    split.classes.same(section, state);
    if (isBlockType(state.type)) split.classes.divides(state, state.width / STATE_BLOCK);
    return undefined;
  };
  pair(k, cache.keys);
  if (v && cache.values) pair(v, cache.values);
}

function splitAttention(op: AttentionOp, split: GraphSplit): void {
  const { q, cache, out, heads, kvHeads, alibiBias, batch } = op;
  if (hasOwnTable(op) || alibiBias || batch.slots.width !== 1) return whole(op, split);
  const states = [cache.keys, ...(cache.values ? [cache.values] : [])];
  const section = split.sectionOf(q);
  if (!section) return whole(op, split);
  const { classes } = split;
  classes.divides(cache.keys, kvHeads);
  classes.same(...states);
  if (!split.apart.has(op)) {
    split.alike([q, out], kvHeads);
    classes.same(section, ...states);
  } else {
    split.alike([q, out], heads);
    classes.shareHeads({ queries: section, keys: cache.keys, kvHeads });
  }
  return undefined;
}

/** How each operator's operands can be cut. An operator without a rule of its own is computed whole by every rank. */
const SPLIT_RULES: OpTable<GraphSplit> = {
  embed: whole,
  matmul: splitMatmul,
  matmulHeads: ({ x, out, heads }, split) => split.alike([x, out], heads),
  routeExperts: whole,
  matmulExperts: splitMatmulExperts,
  scaleExperts: (op, split) => {
    split.whole(op.expertIds);
    elementwise(op, split);
  },
  combineExperts: (op, split) => {
    const { x, routingWeights, out } = op;
    split.whole(routingWeights);
    const section = split.sectionOf(x);
    if (!section || split.layoutOf(x).repeat !== routingWeights.width) whole(op, split);
    else split.classes.same(section, out);
  },
  add: splitBinary,
  mul: splitBinary,
  scale: elementwise,
  clamp: elementwise,
  unary: elementwise,
  gated: ({ gate, up, out }, split) => {
    split.repeats(out, split.layoutOf(gate).repeat);
    split.alike([gate, up, out]);
  },
  slice: splitSlice,
  concat: (op, split) => {
    const { a, b, aPart, bPart, out } = op;
    const parts = a.width / aPart;
    if (parts === 1) whole(op, split);
    else if (b.width === bPart) {
      split.whole(b);
      split.alike([a, out], parts);
    } else split.alike([a, b, out], parts);
  },
  lerp: whole,
  rmsNorm: grouped,
  layerNorm: whole,
  groupNorm: grouped,
  l2Norm: grouped,
  gaussianTopK: whole,
  hadamard: grouped,
  ropeTable: whole,
  rope: ({ x, table, headSize, out }, split) => {
    split.whole(table);
    split.alike([x, out], x.width / headSize);
  },
  tokenAppend: whole,
  kvAppend: splitKvAppend,
  attention: splitAttention,
  tokenShift: whole,
  wkv7: whole,
  wkvBonus: whole,
  causalConv: whole,
  gatedDelta: whole,
  selectiveScan: whole,
  indexScores: whole,
  choosePositions: whole,
  cellPlaces: whole,
  compressCells: whole,
  joinCells: whole,
  streamShares: whole,
  allReduce: whole,
  allGather: whole,
  gatherRows: whole,
  sample: whole,
};

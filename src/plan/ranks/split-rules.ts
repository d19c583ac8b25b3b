import { applyByKind } from '../../base/kind-table.ts';
import {
  type AttentionOp,
  type BinaryOp,
  type CausalConvOp,
  type GatedDeltaOp,
  hasOwnTable,
  type KvAppendOp,
  type LerpOp,
  type MatmulExpertsOp,
  type MatmulOp,
  type Op,
  type OpGraph,
  operandsOf,
  type OpTable,
  readsOwnPart,
  resultsOf,
  type SelectiveScanOp,
  type SliceOp,
  STATE_BLOCK,
  isBlockType,
  type State,
  type Tensor,
  type TokenShiftOp,
  type Wkv7Op,
} from '../../ops/index.ts';
import type { Section, SplitClasses } from './split-classes.ts';
import { tiledTensors } from './tiled-heads.ts';

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

/** Operators that must not be cut as they could be. */
export interface Restrictions {
  /** Attention that cuts its queries finer than its keys. */
  readonly apart: ReadonlySet<Op>;
  /** Operators that every rank computes whole. */
  readonly undivided: ReadonlySet<Op>;
}

/** A state that has so many values for each column of a tensor. */
interface Following {
  readonly tensor: Tensor;
  readonly times: number;
}

/** What the operators of a graph say about how their operands are cut. */
export class GraphSplit {
  readonly products: ColumnProduct[] = [];
  readonly #layouts = new Map<Tensor, Layout>();
  readonly #following = new Map<State, Following>();
  /** How often heads in tiled order repeat in a tensor. */
  readonly #tiled: ReadonlyMap<Tensor, number>;
  /** By tensor: the operators that read it. */
  readonly #readers = new Map<Tensor, Op[]>();
  readonly #outputs: ReadonlySet<Tensor>;

  constructor(
    readonly graph: OpGraph,
    readonly classes: SplitClasses,
    readonly restrictions: Restrictions,
  ) {
    this.#tiled = tiledTensors(graph);
    this.#outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
    for (const op of graph.ops) {
      for (const operand of operandsOf(op)) {
        if (operand.kind === 'tensor')
          this.#readers.set(operand, [...(this.#readers.get(operand) ?? []), op]);
      }
    }
    classes.whole(...graph.inputs);
    for (const op of graph.ops) {
      if (restrictions.undivided.has(op)) whole(op, this);
      else applyByKind(SPLIT_RULES, op, this);
    }
    // What the graph reads itself may be cut: it is gathered for others.
    this.whole(...[...this.#outputs].filter((tensor) => !this.#readers.has(tensor)));
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

  /** Gives a result the sections of a tensor from column `offset` on, which are cut alike. */
  resembles(out: Tensor, x: Tensor, offset = 0): void {
    const { repeat, sections } = this.layoutOf(x);
    const within = sections.filter(
      (section) => section.kind === 'section' && isWithin(section, offset, out.width / repeat),
    ) as Section[];
    const [only, ...others] = within;
    if (only && others.length === 0) {
      // A section that repeats is a tensor that does.
      this.repeats(out, repeat * (only.times ?? 1));
      this.classes.same(only, this.sectionOf(out) as Section);
      return;
    }
    const own = within.map((section): Section => ({ ...section, offset: section.offset - offset }));
    this.#layouts.set(out, { repeat, sections: own });
    for (const [index, section] of own.entries()) this.classes.same(within[index] as Section, section);
  }

  /** The state has `times` values for each column of a tensor. */
  follows(state: State, tensor: Tensor, times: number): void {
    this.#following.set(state, { tensor, times });
  }

  /** The tensor that a state follows. */
  followedBy(state: State): Following | undefined {
    return this.#following.get(state);
  }

  /**
   * The sections of a product's result that is only read by slices, which together are all of each repetition, directly or through a
   * convolution; otherwise all of it is one.
   */
  stacks(out: Tensor, repeat: number): void {
    const sections = this.#sectionsOf(out, repeat);
    if (sections && sections.length > 1) this.#layouts.set(out, { repeat, sections });
    else this.repeats(out, this.#tiled.get(out) ?? repeat);
  }

  #sectionsOf(out: Tensor, repeat: number): readonly Section[] | undefined {
    const width = out.width / repeat;
    const readers = this.#readers.get(out) ?? [];
    if (this.#outputs.has(out)) return undefined;
    const [only, ...others] = readers;
    if (only?.kind === 'causalConv' && others.length === 0) return this.#sectionsOf(only.out, repeat);
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
    if (readers.length !== slices.length || !isCover || end !== width) return undefined;
    return sorted.flatMap((slice): readonly Section[] => {
      const { offset, segmentWidth } = slice;
      const inner = repeat === 1 && sorted.length > 1 ? this.#sectionsOf(slice.out, 1) : undefined;
      if (inner) return inner.map((section) => ({ ...section, offset: offset + section.offset }));
      const times = (repeat === 1 && this.#tiled.get(slice.out)) || 1;
      return [{ kind: 'section', offset, width: segmentWidth / times, times }];
    });
  }
}

/** The columns of a repetition that belong to a section. */
export function sectionWidth({ width, times = 1 }: Section): number {
  return width * times;
}

/** Whether a section lies within so many columns. */
export function isWithin(section: Section, offset: number, width: number): boolean {
  return section.offset >= offset && section.offset + sectionWidth(section) <= offset + width;
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
  const { repeat } = split.layoutOf(op.x);
  split.repeats(op.out, repeat);
  split.alike([op.x, op.out], op.x.width / op.size / repeat);
}

function splitBinary({ a, b, out }: BinaryOp, split: GraphSplit): void {
  const { repeat } = split.layoutOf(a);
  split.repeats(out, repeat);
  split.alike([a, out]);
  if (b.kind === 'weight') {
    if (b.columns !== 1 && b.columns !== a.width) split.alike([a], repeat === 1 ? b.columns : 1);
  } else if (b.width === 1) split.whole(b);
  else split.alike([a, b], b.width === a.width ? undefined : b.width / repeat);
}

/** A product reads an input, in which each repetition is cut alike. */
function readBy(op: MatmulOp | MatmulExpertsOp, columns: number, split: GraphSplit): void {
  const { x, weight } = op;
  const input = split.sectionOf(x);
  const blocks = columns / weight.format.blockElements;
  if (input) split.products.push({ op, input, blocks });
  else split.whole(x);
}

function splitMatmul(op: MatmulOp, split: GraphSplit): void {
  const { x, weight, out } = op;
  const { repeat } = split.layoutOf(x);
  readBy(op, weight.columns / repeat, split);
  split.stacks(out, 1);
  // Columns that repeat are not gathered.
  if (repeat > 1) split.whole(out);
}

/** Rows of an expert's matrix that stay together: the CPU's kernels multiply so many at once. */
const MATRIX_UNIT = 4;

function splitMatmulExperts(op: MatmulExpertsOp, split: GraphSplit): void {
  const { x, expertIds, weight, out } = op;
  split.whole(expertIds);
  const isCuttable = split.layoutOf(x).repeat === (readsOwnPart(op) ? expertIds.width : 1);
  if (isCuttable) readBy(op, weight.columns, split);
  else split.whole(x);
  split.stacks(out, expertIds.width);
  for (const section of split.layoutOf(out).sections)
    split.classes.divides(section, section.width / MATRIX_UNIT);
  // Of their own parts the ranks compute parts of sums.
  if (readsOwnPart(op)) split.whole(out);
}

function splitSlice(op: SliceOp, split: GraphSplit): void {
  const { x, out, offset, segmentWidth, stride } = op;
  const { repeat, sections } = split.layoutOf(x);
  if (sections.length > 1) return split.resembles(out, x, offset);
  const segments = out.width / segmentWidth;
  if (repeat !== 1 || segments === 1 || segments * stride !== x.width) whole(op, split);
  else split.alike([x, out], segments);
  return undefined;
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
  if (!split.restrictions.apart.has(op)) {
    split.alike([q, out], kvHeads);
    classes.same(section, ...states);
  } else {
    split.alike([q, out], heads);
    classes.shareHeads({ queries: section, keys: cache.keys, kvHeads });
  }
  return undefined;
}

/** The rule of recurrences: heads that have a state each, `parts` of them in each repetition. */
function byHeads(
  tensors: readonly Tensor[],
  { state, parts, repeat = 1 }: { readonly state?: State; readonly parts: number; readonly repeat?: number },
  split: GraphSplit,
): void {
  const sections = tensors.map((tensor) => split.sectionOf(tensor));
  const areAlike = tensors.every((tensor) => split.layoutOf(tensor).repeat === repeat);
  if (!areAlike || sections.includes(undefined)) return split.whole(...tensors, state);
  const known = sections.filter((section) => section !== undefined);
  split.classes.same(...known, ...(state ? [state] : []));
  for (const section of known) split.classes.divides(section, parts);
  return undefined;
}

function splitWkv7({ r, w, k, v, kk, a, out, state, headSize }: Wkv7Op, split: GraphSplit): void {
  byHeads([r, w, k, v, kk, a, out], { state, parts: r.width / headSize }, split);
}

/** Value heads that share a key head stay together: they follow one another, or repeat in tiled order. */
function splitGatedDelta(op: GatedDeltaOp, split: GraphSplit): void {
  const { q, k, v, decay, beta, out, state, heads, keyHeads, keyOrder } = op;
  const repeat = keyOrder === 'tiled' ? heads / keyHeads : 1;
  split.repeats(out, repeat);
  byHeads([q, k], { parts: keyHeads }, split);
  byHeads([v, decay, beta, out], { state, parts: keyHeads, repeat }, split);
  const keys = split.sectionOf(q);
  const values = split.sectionOf(v);
  if (keys && values && split.layoutOf(v).repeat === repeat) split.classes.same(keys, values);
  else whole(op, split);
}

/** Heads that share what they read and write stay together, unless all heads do: then every rank has that. */
function splitSelectiveScan(op: SelectiveScanOp, split: GraphSplit): void {
  const { x, b, c, out, state, heads, groups } = op;
  const shared = [b, c, ...(op.decay ? [op.decay] : [])];
  const own = [x, out, ...(op.dt ? [op.dt] : [])];
  if (groups > 1) return byHeads([...own, ...shared], { state, parts: groups }, split);
  split.whole(...shared);
  return byHeads(own, { state, parts: heads }, split);
}

function splitCausalConv({ x, weight, last, out }: CausalConvOp, split: GraphSplit): void {
  const { repeat, sections } = split.layoutOf(x);
  if (sections.length > 1) split.resembles(out, x);
  else {
    split.repeats(out, repeat);
    split.alike([x, out]);
  }
  split.follows(last, x, weight.columns - 1);
}

function splitTokenShift({ x, last, out }: TokenShiftOp, split: GraphSplit): void {
  elementwise({ x, out }, split);
  split.follows(last, x, 1);
}

/** Values of another part are whole; of these, a rank takes its own. */
function splitLerp({ a, b, t, out }: LerpOp, split: GraphSplit): void {
  const read = [a, b, ...(t.kind === 'tensor' ? [t] : [])];
  split.alike([...read.filter((tensor) => !isFromElsewhere(tensor)), out]);
}

/** Whether an operand is whole, of which a rank takes its piece. */
export function isFromElsewhere({ role, type }: Tensor): boolean {
  return role === 'input' && type === 'f32';
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
  lerp: splitLerp,
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
  tokenShift: splitTokenShift,
  wkv7: splitWkv7,
  wkvBonus: ({ r, k, v, out, headSize }, split) =>
    byHeads([r, k, v, out], { parts: r.width / headSize }, split),
  causalConv: splitCausalConv,
  gatedDelta: splitGatedDelta,
  selectiveScan: splitSelectiveScan,
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

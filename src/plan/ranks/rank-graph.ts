import { invariant } from '../../base/errors.ts';
import {
  type BinaryOp,
  lengthOf,
  type MatmulExpertsOp,
  type MatmulOp,
  type Op,
  type OpGraph,
  operandsOf,
  type Range,
  readsOwnPart,
  resultsOf,
  type SliceOp,
  type State,
  type Tensor,
  type Value,
  type Weight,
  type WeightShard,
} from '../../ops/index.ts';
import { exchanged } from '../../ops/cut-graph.ts';
import { dealt, type Node, type SplitClasses } from './split-classes.ts';
import { type GraphSplit, isFromElsewhere, isWithin } from './split-rules.ts';

/** What a rank's graph is made from. */
export interface RankGraphSetup {
  readonly split: GraphSplit;
  readonly classes: SplitClasses;
  readonly rank: number;
  /** The products that gather their input instead of adding up what the ranks compute of it. */
  readonly gathering: ReadonlySet<Op>;
  /** Elements from which on a matrix is cut by rows even if its whole result has to be gathered. */
  readonly gatherAtLeast: number;
}

/** Rows of a matrix whose result is gathered are cut at multiples of this, if there are enough. */
const ROW_UNIT = 32;

/**
 * Makes one rank's graph of a model's: with its pieces of split values and weights, and a collective where an operator needs all of
 * a value, or where the ranks have computed parts of a sum. Sums are added up as late as possible.
 */
export class RankGraph {
  readonly #of: RankGraphSetup;
  readonly #values = new Map<Value, Value>();
  readonly #whole = new Map<Tensor, Tensor>();
  /** Tensors of which every rank has a part of the sum. */
  readonly #partial = new Set<Tensor>();
  readonly #weights = new Map<string, Weight>();
  readonly #ops: Op[] = [];
  #nextId: number;

  constructor(of: RankGraphSetup) {
    this.#of = of;
    const { graph } = of.split;
    const values = [...graph.inputs, ...graph.weights, ...graph.states, ...graph.ops.flatMap(resultsOf)];
    this.#nextId = Math.max(0, ...values.map(({ id }) => id)) + 1;
  }

  make(): OpGraph {
    const { split, classes, rank } = this.#of;
    const { graph } = split;
    for (const op of graph.ops) this.#add(op);
    const outputs = graph.outputs.map(({ name, tensor }) => ({ name, tensor: this.#all(tensor) }));
    return {
      ...graph,
      outputs,
      weights: [...this.#weights.values()],
      states: graph.states.map((state) => this.#stateOf(state)),
      ops: this.#ops,
      rank: { index: rank, count: classes.ranks },
    };
  }

  #add(op: Op): void {
    if (op.kind === 'matmul') this.#addMatmul(op);
    else if (op.kind === 'matmulExperts') this.#addExperts(op);
    else if (this.#isLinear(op)) this.#addPartial(op);
    else {
      for (const operand of operandsOf(op)) if (operand.kind === 'tensor') this.#summed(operand);
      this.#push(op, [...this.#weightsOf(op), ...this.#taken(op)], sizesOf(op, this));
    }
  }

  /** Whether a sum of parts can go through an operator before it is added up. */
  #isLinear(op: Op): boolean {
    if (op.kind === 'scaleExperts' || op.kind === 'combineExperts' || op.kind === 'scale')
      return this.#partial.has(op.x);
    if (op.kind !== 'add' || op.b.kind === 'weight') return false;
    return this.#partial.has(op.a) && this.#partial.has(op.b);
  }

  #addPartial(op: Op): void {
    for (const result of resultsOf(op)) this.#beginSum(result);
    this.#push(op, this.#weightsOf(op));
  }

  /** Every rank computes its rows of the result, or a part of the sum from its columns of the input. */
  #addMatmul(op: MatmulOp): void {
    const { weight, bias, x, out } = op;
    const { gathering, gatherAtLeast, classes, rank } = this.#of;
    this.#summed(x);
    const isRows = this.#isSplit(out);
    if (!isRows && this.#isSplit(x) && !gathering.has(op)) {
      const own = this.#weight(weight, { columns: this.#rangesOf(x) });
      this.#beginSum(out);
      this.#push({ ...op, bias: this.#once(bias) }, [[weight, own]]);
      return;
    }
    const whole = this.#all(x);
    const given = [[x, whole]] as const;
    if (isRows) {
      const rows = this.#rangesOf(out);
      this.#push(op, [...given, [weight, this.#weight(weight, { rows })], ...this.#columns(bias, rows)]);
    } else if (weight.rows * weight.columns >= gatherAtLeast && weight.rows >= classes.ranks) {
      const pieces = rowPieces(weight.rows, classes.ranks);
      const rows = [pieces[rank] as Range];
      const part: Tensor = { ...out, ...this.#named('matmul'), width: lengthOf(rows) };
      this.#push({ ...op, out: part }, [
        ...given,
        [weight, this.#weight(weight, { rows })],
        ...this.#columns(bias, rows),
      ]);
      const widths = pieces.map(({ start, end }) => end - start);
      this.#ops.push({ kind: 'allGather', x: part, widths, out });
    } else this.#push(op, [...given, ...this.#wholeWeights([weight, bias])]);
  }

  #addExperts(op: MatmulExpertsOp): void {
    const { weight, bias, x, out, outputs } = op;
    const { split } = this.#of;
    this.#summed(x);
    const section = split.sectionOf(x);
    const isRows = this.#isSplit(out);
    if (!isRows && section && this.#isSplit(x)) {
      const own = this.#weight(weight, { columns: this.#rangesWithin(x) });
      this.#beginSum(out);
      this.#push({ ...op, bias: this.#once(bias) }, [[weight, own]]);
      return;
    }
    invariant(!isRows || !readsOwnPart(op), 'the input of a product by rows is whole');
    const given = [[x, this.#all(x)]] as const;
    if (!isRows) return this.#push(op, [...given, ...this.#wholeWeights([weight, bias])]);
    const within = this.#rangesWithin(out);
    const experts = Array.from({ length: weight.rows / outputs }, (_, expert) => expert * outputs);
    const rows = experts.flatMap((first) =>
      within.map(({ start, end }) => ({ start: first + start, end: first + end })),
    );
    this.#push(op, [...given, [weight, this.#weight(weight, { rows })], ...this.#columns(bias, within)], {
      outputs: lengthOf(within),
    });
    return undefined;
  }

  /** Adds an operator with this rank's values in place of the graph's, and sizes of its own. */
  #push(op: Op, given: readonly (readonly [Value, Value])[] = [], sizes: object = {}): void {
    const own = new Map<Value, Value>(given);
    for (const value of [...operandsOf(op), ...resultsOf(op)]) {
      if (own.has(value)) continue;
      if (value.kind === 'state') own.set(value, this.#stateOf(value));
      else if (value.kind === 'tensor') own.set(value, this.#own(value));
      else this.#weight(value, {});
    }
    this.#ops.push({ ...exchanged(op, own), ...sizes } as Op);
  }

  /** This rank's piece of a tensor. */
  #own(tensor: Tensor): Tensor {
    const known = this.#values.get(tensor);
    if (known?.kind === 'tensor') return known;
    const own = this.#isSplit(tensor) ? { ...tensor, width: lengthOf(this.#rangesOf(tensor)) } : tensor;
    this.#values.set(tensor, own);
    return own;
  }

  /** All of a tensor. */
  #all(tensor: Tensor): Tensor {
    this.#summed(tensor);
    if (!this.#isSplit(tensor)) return this.#own(tensor);
    const known = this.#whole.get(tensor);
    if (known) return known;
    const { classes, split } = this.#of;
    const section = split.sectionOf(tensor);
    invariant(
      section && split.layoutOf(tensor).repeat === 1,
      `the pieces of ${tensor.name} stand side by side`,
    );
    const widths = classes.piecesOf(section).map(({ start, end, of }) => ((end - start) * tensor.width) / of);
    const out: Tensor = { ...tensor, ...this.#named('allGather') };
    this.#ops.push({ kind: 'allGather', x: this.#own(tensor), widths, out });
    this.#whole.set(tensor, out);
    return out;
  }

  /** The rank's pieces of values that another part has computed whole. */
  #taken(op: Op): readonly (readonly [Value, Value])[] {
    if (op.kind !== 'lerp' || !this.#isSplit(op.out)) return [];
    const whole = [op.a, op.b, op.t].filter(
      (value): value is Tensor => value.kind === 'tensor' && isFromElsewhere(value),
    );
    const ranges = this.#rangesOf(op.out);
    const [{ start, end } = { start: 0, end: 0 }] = ranges;
    invariant(ranges.length === 1, `the columns of ${op.out.name} stand side by side`);
    return whole.map((x) => {
      const out: Tensor = { ...x, ...this.#named('slice'), width: end - start };
      this.#ops.push({ kind: 'slice', x, offset: start, segmentWidth: end - start, stride: x.width, out });
      return [x, out] as const;
    });
  }

  /** The ranks have parts of this result. */
  #beginSum(out: Tensor): void {
    this.#values.set(out, { ...out, ...this.#named('part') });
    this.#partial.add(out);
  }

  /** Adds up a sum of which the ranks have parts. */
  #summed(tensor: Tensor): void {
    if (!this.#partial.delete(tensor)) return;
    const x = this.#own(tensor);
    this.#ops.push({ kind: 'allReduce', x, out: tensor });
    this.#values.set(tensor, tensor);
  }

  #named(name: string): Pick<Tensor, 'id' | 'name' | 'role'> {
    return { id: this.#nextId++, name: `${name}.${this.#ops.length}`, role: 'temp' };
  }

  #stateOf(state: State): State {
    const known = this.#values.get(state);
    if (known?.kind === 'state') return known;
    const followed = this.#of.split.followedBy(state);
    const width = followed
      ? followed.times * this.#own(followed.tensor).width
      : lengthOf(this.#nodeRanges(state));
    const own = width === state.width ? state : { ...state, width };
    this.#values.set(state, own);
    return own;
  }

  #isSplit(tensor: Tensor): boolean {
    const { split } = this.#of;
    return split.layoutOf(tensor).sections.some((section) => this.#isCut(section));
  }

  #isCut(node: Node): boolean {
    const { classes } = this.#of;
    return classes.piecesOf(node).some(({ start, end, of }) => end - start < of);
  }

  /** The columns that the rank has of a tensor. */
  #rangesOf(tensor: Tensor): Range[] {
    const { repeat } = this.#of.split.layoutOf(tensor);
    const [each, within] = [tensor.width / repeat, this.#rangesWithin(tensor)];
    return Array.from({ length: repeat }, (_, index) => index * each).flatMap((first) =>
      within.map(({ start, end }) => ({ start: first + start, end: first + end })),
    );
  }

  /** The columns that the rank has of each repetition of a tensor. */
  #rangesWithin(tensor: Tensor): Range[] {
    const { sections } = this.#of.split.layoutOf(tensor);
    return sections.flatMap((section) => {
      const { offset, times = 1 } = section.kind === 'section' ? section : { offset: 0 };
      const firsts = Array.from({ length: times }, (_, index) => offset + index * section.width);
      return firsts.flatMap((first) =>
        this.#nodeRanges(section).map(({ start, end }) => ({ start: first + start, end: first + end })),
      );
    });
  }

  #nodeRanges(node: Node): Range[] {
    const { classes, rank } = this.#of;
    const piece = classes.piecesOf(node)[rank];
    invariant(piece, 'every rank has a piece');
    const part = node.width / piece.of;
    return [{ start: piece.start * part, end: piece.end * part }];
  }

  /** Where a slice of some of a tensor's sections begins in the rank's piece, and how wide it is there. */
  sliceOf({
    x,
    offset,
    segmentWidth,
  }: SliceOp): Pick<SliceOp, 'offset' | 'segmentWidth' | 'stride'> | undefined {
    const { sections } = this.#of.split.layoutOf(x);
    if (sections.length === 1) return undefined;
    let before = 0;
    const own = { offset: 0, segmentWidth: 0 };
    for (const section of sections) {
      const { times = 1 } = section.kind === 'section' ? section : {};
      const width = times * lengthOf(this.#nodeRanges(section));
      if (section.kind === 'section' && section.offset === offset) own.offset = before;
      if (section.kind === 'section' && isWithin(section, offset, segmentWidth)) own.segmentWidth += width;
      before += width;
    }
    return { ...own, stride: before };
  }

  /** The width of the rank's piece of a tensor or state. */
  widthOf(value: Tensor | State): number {
    return value.kind === 'state' ? this.#stateOf(value).width : this.#own(value).width;
  }

  /** The rank's vectors for operators that work on the columns of a split tensor. */
  #weightsOf(op: Op): readonly (readonly [Value, Value])[] {
    switch (op.kind) {
      case 'add':
      case 'mul':
        return this.#factors(op);
      case 'groupNorm': {
        const columns = this.#rangesOf(op.x);
        return [...this.#columns(op.weight, columns), ...this.#columns(op.bias, columns)];
      }
      case 'rmsNorm': {
        if (!op.weight || op.weight.rows === 1) return [];
        const rows = scaled(this.#rangesOf(op.x), 1 / op.size);
        return [[op.weight, this.#weight(op.weight, { rows })]];
      }
      case 'matmulHeads': {
        const rows = this.#rangesOf(op.out);
        return [[op.weight, this.#weight(op.weight, { rows })]];
      }
      case 'attention':
        return this.#columns(op.sinks, scaled(this.#rangesOf(op.q), 1 / op.keySize));
      case 'lerp':
        return op.t.kind === 'weight' ? this.#columns(op.t, this.#rangesOf(op.out)) : [];
      case 'wkvBonus':
        return this.#vector(op.weight, this.#rangesOf(op.out));
      case 'causalConv': {
        const rows = this.#rangesOf(op.x);
        return [[op.weight, this.#weight(op.weight, { rows })], ...this.#columns(op.bias, rows)];
      }
      case 'selectiveScan': {
        const heads = scaled(this.#rangesOf(op.x), 1 / op.headSize);
        return op.dt ? [[op.a, this.#weight(op.a, { rows: heads })], ...this.#vector(op.d, heads)] : [];
      }
      default:
        return [];
    }
  }

  #factors({ a, b }: BinaryOp): readonly (readonly [Value, Value])[] {
    if (b.kind !== 'weight' || b.columns === 1) return [];
    return this.#columns(b, scaled(this.#rangesOf(a), b.columns / a.width));
  }

  /** A vector's columns of these. */
  #columns(vector: Weight | undefined, columns: readonly Range[]): readonly (readonly [Value, Value])[] {
    return vector ? [[vector, this.#weight(vector, { columns })]] : [];
  }

  /** These of a weight's values, which stand in one row or in several. */
  #vector(weight: Weight, values: readonly Range[]): readonly (readonly [Value, Value])[] {
    const own = weight.rows === 1 ? { columns: values } : { rows: scaled(values, 1 / weight.columns) };
    return [[weight, this.#weight(weight, own)]];
  }

  #wholeWeights(weights: readonly (Weight | undefined)[]): readonly (readonly [Value, Value])[] {
    return weights.flatMap((weight) => (weight ? [[weight, this.#weight(weight, {})] as const] : []));
  }

  /** What is added to a sum is added by the first rank. */
  #once(bias: Weight | undefined): Weight | undefined {
    return this.#of.rank === 0 ? bias : undefined;
  }

  /** Some rows and columns of a weight; by default all. */
  #weight(weight: Weight, { rows, columns }: Partial<Pick<WeightShard, 'rows' | 'columns'>>): Weight {
    const shard: WeightShard = {
      of: { rows: weight.rows, columns: weight.columns },
      rows: joined(rows ?? [{ start: 0, end: weight.rows }]),
      columns: joined(columns ?? [{ start: 0, end: weight.columns }]),
    };
    const size = { rows: lengthOf(shard.rows), columns: lengthOf(shard.columns) };
    const isWhole = size.rows === weight.rows && size.columns === weight.columns;
    const key = isWhole ? weight.name : JSON.stringify([weight.name, shard.rows, shard.columns]);
    const known = this.#weights.get(key);
    if (known) return known;
    const own = isWhole ? weight : { ...weight, ...size, id: this.#nextId++, shard };
    this.#weights.set(key, own);
    return own;
  }
}

/** The sizes of an operator that follow from its operands' widths. */
function sizesOf(op: Op, own: RankGraph): object {
  switch (op.kind) {
    case 'attention': {
      const { q, cache, keySize } = op;
      return { heads: own.widthOf(q) / keySize, kvHeads: own.widthOf(cache.keys) / keySize };
    }
    case 'matmulHeads':
      return { heads: own.widthOf(op.out) / op.outputs };
    case 'gatedDelta':
      return { heads: own.widthOf(op.beta), keyHeads: own.widthOf(op.q) / op.keySize };
    case 'selectiveScan': {
      const { x, b, headSize, stateSize } = op;
      return { heads: own.widthOf(x) / headSize, groups: own.widthOf(b) / stateSize };
    }
    case 'slice': {
      const { x, stride } = op;
      const cut = own.sliceOf(op);
      if (cut) return cut;
      // A slice of the whole row has the row's width between its segments.
      return stride === x.width ? { stride: own.widthOf(x) } : {};
    }
    default:
      return {};
  }
}

/** Pieces of a matrix's rows, as even as possible. */
function rowPieces(rows: number, ranks: number): Range[] {
  const unit = rows % ROW_UNIT === 0 && rows / ROW_UNIT >= ranks ? ROW_UNIT : 1;
  return scaled(dealt(rows / unit, ranks), unit);
}

function scaled(ranges: readonly Range[], factor: number): Range[] {
  return ranges.map(({ start, end }) => ({ start: start * factor, end: end * factor }));
}

/** Ranges of which none begins where another ends. */
function joined(ranges: readonly Range[]): Range[] {
  const found: { start: number; end: number }[] = [];
  for (const { start, end } of ranges) {
    const last = found.at(-1);
    if (last?.end === start) last.end = end;
    else found.push({ start, end });
  }
  return found;
}

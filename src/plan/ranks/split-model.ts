import { invariant } from '../../base/errors.ts';
import { BUFFER_ALIGNMENT, type GroupFacts } from '../../device/index.ts';
import {
  type AttentionOp,
  type MatmulOp,
  type Op,
  type OpGraph,
  type State,
  stateBytes,
} from '../../ops/index.ts';
import { mapParts, type ModelGraphs, type ModelPart, partsOf, stateName } from '../../model/model-graphs.ts';
import { RankGraph } from './rank-graph.ts';
import { type Node, SplitClasses } from './split-classes.ts';
import { GraphSplit, type Restrictions } from './split-rules.ts';

/** How a model is split over ranks. */
export interface SplitOptions extends GroupFacts {
  /**
   * Whether sums are added up as one device does, so that results are the same bits: products gather their whole input instead of
   * adding up parts of it, which takes longer. Default false.
   */
  readonly exact?: boolean | undefined;
}

/**
 * Splits a recorded model over ranks (tensor parallelism; Shoeybi et al. 2019, "Megatron-LM"): attention and recurrences by their
 * heads, feed-forwards and experts by their hidden layer, other large matrices by rows. Every part's graph becomes rank 0's, with all
 * ranks' graphs in `ranks`. What has no rule is computed whole by every rank; what is handed from part to part is whole as well.
 */
export function splitModel(graphs: ModelGraphs, options: SplitOptions): ModelGraphs {
  const parts = partsOf(graphs);
  const restrictions = { apart: new Set<Op>(), undivided: new Set<Op>() };
  const narrow = opsOf(parts, isAttention, splitsOf(parts, options, restrictions)).filter(
    ({ op, split, classes }) => !isCut(op, split, classes),
  );
  // Key heads that are fewer than ranks are on several of them; queries are still split.
  for (const { op } of narrow) restrictions.apart.add(op);
  let ranked = rankGraphs(splitsOf(parts, options, restrictions), options);
  for (let uneven = unevenIn(ranked); uneven.length > 0; uneven = unevenIn(ranked)) {
    for (const op of uneven) restrictions.undivided.add(op);
    ranked = rankGraphs(splitsOf(parts, options, restrictions), options);
  }
  return mapParts(graphs, (part) => {
    const ranks = ranked.get(part.graph) ?? [];
    const [first] = ranks as [OpGraph];
    const grouped = part.grouped?.map(({ state, group }) => ({ state: ownState(first, state), group }));
    return { ...part, graph: { ...first, ranks }, ...(grouped && { grouped }) };
  });
}

/** What a rank has of a state. */
function ownState({ states }: OpGraph, { name }: State): State {
  const own = states.find((state) => state.name === name);
  invariant(own, `a rank has a part of ${name}`);
  return own;
}

/** How one graph is split. */
interface Split {
  readonly split: GraphSplit;
  readonly classes: SplitClasses;
  readonly gathering: ReadonlySet<Op>;
}

/** How the distinct graphs of a model are split: states that several of them use are cut alike. */
function splitsOf(
  parts: readonly ModelPart[],
  { ranks, exact, gatherAtLeast }: SplitOptions,
  restrictions: Restrictions,
): ReadonlyMap<OpGraph, Split> {
  const classes = new SplitClasses(ranks);
  const splits = new Map<OpGraph, GraphSplit>();
  const states = new Map<string, State>();
  for (const part of parts) {
    const { graph } = part;
    if (!splits.has(graph)) splits.set(graph, new GraphSplit(graph, classes, restrictions));
    for (const state of graph.states) {
      const name = stateName(part, state);
      const known = states.get(name);
      if (known) classes.same(known, state);
      else states.set(name, state);
    }
  }
  const found = new Map<OpGraph, Split>();
  for (const [graph, split] of splits) {
    const gathering = gatheringOf(split, classes, exact === true);
    leaveWhole({ split, classes, gathering }, gatherAtLeast);
    found.set(graph, { split, classes, gathering });
  }
  classes.deal();
  return found;
}

/** The products that gather their input, because sums must be exact or the blocks of the weight cannot be dealt out. */
function gatheringOf(split: GraphSplit, classes: SplitClasses, exact: boolean): Set<Op> {
  const gathering = new Set<Op>();
  for (const { op, blocks, input } of split.products) {
    // What several ranks have would be added up several times.
    if (classes.isShared(input)) classes.whole(input);
    if (!classes.isSplit(input)) continue;
    if (!exact && classes.narrow(input, blocks)) continue;
    if (op.kind === 'matmul' && split.layoutOf(op.x).repeat === 1) gathering.add(op);
    else classes.whole(input);
  }
  return gathering;
}

/**
 * Values that small products compute, and of which every product that reads them would gather all: every rank computes them whole,
 * because the turn over the link would take longer. What is cut like a state stays cut.
 */
function leaveWhole({ split, classes, gathering }: Split, gatherAtLeast: number): void {
  const { graph, products } = split;
  const isRows = ({ out }: MatmulOp) => split.layoutOf(out).sections.some((node) => classes.isSplit(node));
  const matmuls = graph.ops.filter((op): op is MatmulOp => op.kind === 'matmul');
  // The last first: what a product does not gather, its input need not be cut for.
  for (const { op, input } of [...products].reverse()) {
    if (!classes.isSplit(input)) continue;
    const stands = classes.standFor(input);
    const isAlike = (node: Node) => classes.standFor(node) === stands;
    if (graph.states.some(isAlike)) continue;
    const readers = products.filter((product) => isAlike(product.input));
    const areGathering = readers.every(
      ({ op: reader }) => reader.kind === 'matmul' && (gathering.has(reader) || isRows(reader)),
    );
    const makers = matmuls.filter(({ out }) => split.layoutOf(out).sections.some(isAlike));
    const areSmall = makers.every(({ weight }) => weight.rows * weight.columns < gatherAtLeast);
    if (op.kind === 'matmul' && areGathering && areSmall) classes.whole(input);
  }
}

/** Each rank's graph of each of the model's. */
function rankGraphs(
  splits: ReadonlyMap<OpGraph, Split>,
  { ranks, gatherAtLeast }: SplitOptions,
): ReadonlyMap<OpGraph, readonly OpGraph[]> {
  const made = [...splits].map(([graph, { split, classes, gathering }]) => {
    const graphs = Array.from({ length: ranks }, (_, rank) =>
      new RankGraph({ split, classes, rank, gathering, gatherAtLeast }).make(),
    );
    return [graph, graphs] as const;
  });
  return new Map(made);
}

/** An operator, and how its graph is split. */
interface SplitOp<O extends Op> extends Split {
  readonly op: O;
}

function opsOf<O extends Op>(
  parts: readonly ModelPart[],
  is: (op: Op) => op is O,
  splits: ReadonlyMap<OpGraph, Split>,
): SplitOp<O>[] {
  const graphs = [...new Set(parts.map(({ graph }) => graph))];
  return graphs.flatMap((graph) =>
    graph.ops.filter(is).map((op) => ({ ...(splits.get(graph) as Split), op })),
  );
}

function isAttention(op: Op): op is AttentionOp {
  return op.kind === 'attention';
}

function isCut({ q }: AttentionOp, split: GraphSplit, classes: SplitClasses): boolean {
  const section = split.sectionOf(q);
  return section !== undefined && classes.isSplit(section);
}

/**
 * The recurrences whose state has rows that the host could not find on every rank: a slot's values begin at the same offset on all of
 * them, and where a device copies them on their own, they have to begin at an offset from which it can.
 */
function unevenIn(ranked: ReadonlyMap<OpGraph, readonly OpGraph[]>): Op[] {
  return [...ranked].flatMap(([graph, ranks]) =>
    graph.ops.filter((op) => {
      const state = slotStateOf(op);
      if (!state) return false;
      const own = ranks.map(({ states }) => states.find(({ name }) => name === state.name)?.width);
      const bytes = stateBytes({ ...state, width: own[0] ?? state.width }) / state.rows;
      const isAligned = bytes % BUFFER_ALIGNMENT === 0;
      const wasAligned = (stateBytes(state) / state.rows) % BUFFER_ALIGNMENT === 0;
      return new Set(own).size > 1 || (wasAligned && !isAligned);
    }),
  );
}

/** The state of which an operator keeps a row for each sequence. */
function slotStateOf(op: Op): State | undefined {
  switch (op.kind) {
    case 'causalConv':
    case 'tokenShift':
      return op.last;
    case 'gatedDelta':
    case 'selectiveScan':
    case 'wkv7':
      return op.state;
    default:
      return undefined;
  }
}

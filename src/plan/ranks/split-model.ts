import type { GroupFacts } from '../../device/index.ts';
import type { AttentionOp, Op, OpGraph, State } from '../../ops/index.ts';
import { type ModelGraphs, type ModelPart, partsOf, stateName } from '../../model/model-graphs.ts';
import { RankGraph } from './rank-graph.ts';
import { SplitClasses } from './split-classes.ts';
import { GraphSplit } from './split-rules.ts';

/** How a model is split over ranks. */
export interface SplitOptions extends GroupFacts {
  /**
   * Whether sums are added up as one device does, so that results are the same bits: products gather their whole input instead of
   * adding up parts of it, which takes longer. Default false.
   */
  readonly exact?: boolean | undefined;
}

/**
 * Splits a recorded model over ranks (tensor parallelism; Shoeybi et al. 2019, "Megatron-LM"): attention by its heads, feed-forwards
 * and experts by their hidden layer, other large matrices by rows. Every part's graph becomes rank 0's, with all ranks' graphs in
 * `ranks`. What has no rule is computed whole by every rank; what is handed from part to part is whole as well.
 */
export function splitModel(graphs: ModelGraphs, options: SplitOptions): ModelGraphs {
  const parts = partsOf(graphs);
  const apart = new Set<AttentionOp>();
  let splits = splitsOf(parts, options, apart);
  const narrow = attentionOf(parts).filter(({ graph, op }) => !isCut(splits, graph, op));
  if (narrow.length > 0) {
    // Key heads that are fewer than ranks are on several of them; queries are still split.
    for (const { op } of narrow) apart.add(op);
    splits = splitsOf(parts, options, apart);
  }
  const ranked = new Map<OpGraph, OpGraph>();
  for (const [graph, { split, classes, gathering }] of splits) {
    const { gatherAtLeast } = options;
    const ranks = Array.from({ length: options.ranks }, (_, rank) => {
      return new RankGraph({ split, classes, rank, gathering, gatherAtLeast }).make();
    });
    ranked.set(graph, { ...(ranks[0] as OpGraph), ranks });
  }
  // A part that several steps have stays one.
  const exchanged = new Map(
    parts.map((part) => [part, { ...part, graph: ranked.get(part.graph) as OpGraph }]),
  );
  const exchange = (part: ModelPart) => exchanged.get(part) as ModelPart;
  const { embedding, layers, head, sampling, predictor, boundaries } = graphs;
  return {
    embedding: exchange(embedding),
    layers: layers.map(exchange),
    head: exchange(head),
    sampling: exchange(sampling),
    predictor: predictor && {
      state: predictor.state.map(exchange),
      behindStep: predictor.behindStep.map(exchange),
      alone: predictor.alone.map(exchange),
    },
    boundaries,
  };
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
  { ranks, exact }: SplitOptions,
  apart: ReadonlySet<AttentionOp>,
): ReadonlyMap<OpGraph, Split> {
  const classes = new SplitClasses(ranks);
  const splits = new Map<OpGraph, GraphSplit>();
  const states = new Map<string, State>();
  for (const part of parts) {
    const { graph } = part;
    if (!splits.has(graph)) splits.set(graph, new GraphSplit(graph, classes, apart));
    for (const state of graph.states) {
      const name = stateName(part, state);
      const known = states.get(name);
      if (known) classes.same(known, state);
      else states.set(name, state);
    }
  }
  const found = new Map<OpGraph, Split>();
  for (const [graph, split] of splits) {
    found.set(graph, { split, classes, gathering: gatheringOf(split, classes, exact === true) });
  }
  classes.deal();
  return found;
}

/** The products that gather their input, because sums must be exact or the blocks of the weight cannot be dealt out. */
function gatheringOf({ products }: GraphSplit, classes: SplitClasses, exact: boolean): Set<Op> {
  const gathering = new Set<Op>();
  for (const { op, blocks, input } of products) {
    // What several ranks have would be added up several times.
    if (classes.isShared(input)) classes.whole(input);
    if (!classes.isSplit(input)) continue;
    if (!exact && classes.narrow(input, blocks)) continue;
    if (op.kind === 'matmul') gathering.add(op);
    else classes.whole(input);
  }
  return gathering;
}

function attentionOf(parts: readonly ModelPart[]): { graph: OpGraph; op: AttentionOp }[] {
  const graphs = new Set(parts.map(({ graph }) => graph));
  return [...graphs].flatMap((graph) =>
    graph.ops.flatMap((op) => (op.kind === 'attention' ? [{ graph, op }] : [])),
  );
}

function isCut(splits: ReadonlyMap<OpGraph, Split>, graph: OpGraph, { q }: AttentionOp): boolean {
  const found = splits.get(graph);
  const section = found?.split.sectionOf(q);
  return section !== undefined && found?.classes.isSplit(section) === true;
}

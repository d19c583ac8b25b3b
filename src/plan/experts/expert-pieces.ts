import { fail, invariant } from '../../base/errors.ts';
import {
  EARLIER_SUM,
  EXPERT_IDS,
  EXPERT_SLOTS,
  EXPERT_SUM,
  type ExpertPiece,
  GROUP_WEIGHTS,
  ROUTING_WEIGHTS,
} from '../../model/expert-place.ts';
import type { ModelGraphs, ModelPart } from '../../model/model-graphs.ts';
import type { RouteExpertsOp } from '../../ops/experts/route-experts.ts';
import type { OpGraph } from '../../ops/graph.ts';
import { type Op, operandsOf, resultsOf } from '../../ops/op.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import { cutGraph, exchanged } from '../../ops/cut-graph.ts';
import { leadsTo, likelyGraph, routerInputs, type RouterPath, routerPath } from './likely-experts.ts';

/** The roles of a layer's pieces, in the order in which `expertPieces` gives them. */
const ROLES = ['route', 'whole', 'first', 'more', 'after'] as const;

/** A layer with experts: its graphs in the order of `ROLES`, and the weights that have slots. */
interface CutLayer extends Omit<ExpertPiece, 'role'> {
  readonly graphs: readonly OpGraph[];
  /** How its router's choice follows from the residual stream, if it is to be guessed. */
  readonly path?: RouterPath | undefined;
}

/** How experts are streamed. */
export interface ExpertSlots {
  /** Most slots for experts in each layer; the graphs are recorded for these. */
  readonly slots: number;
  /** Most experts of a layer that are loaded before its router has chosen; 0 for none. */
  readonly prefetch: number;
}

/**
 * The model's graphs with each layer that has experts cut behind the choice of them, its products reading the weights
 * of at most `slots` experts by slot instead of by expert. Throws `INVALID_ARGUMENT` for a model without experts, and if experts
 * are to be loaded ahead and no layer's can be guessed.
 */
export function expertPieces(graphs: ModelGraphs, { slots, prefetch }: ExpertSlots): ModelGraphs {
  const known = new Map<OpGraph, CutLayer | undefined>();
  const likely = new LikelyParts();
  const layers = graphs.layers.flatMap((part) => {
    if (!known.has(part.graph)) known.set(part.graph, cutLayer(part.graph, slots, prefetch > 0));
    const cut = known.get(part.graph);
    return cut ? [...likely.of(part, cut), ...partsOf(part, cut)] : [part];
  });
  if (layers.length === graphs.layers.length) {
    fail('INVALID_ARGUMENT', { name: 'experts', found: 'stream', expected: 'a model with experts' });
  }
  if (prefetch > 0 && likely.count === 0) {
    const expected = 'a model of two layers or more whose routers choose by the residual stream';
    fail('INVALID_ARGUMENT', { name: 'expertPrefetch', found: `${prefetch}`, expected });
  }
  return { ...graphs, layers };
}

/** The parts that guess layers' experts, each from what the layer with experts before it reads; layers alike share graphs. */
class LikelyParts {
  count = 0;
  readonly #graphs = new Map<RouterPath, Map<RouterPath, OpGraph>>();
  #before: { readonly path: RouterPath; readonly order: number } | undefined;

  /** That of a layer: none for the first one, and where nothing leads to its choice. Layers come in their order. */
  of(part: ModelPart, { path, count, slots, topK, stacked }: CutLayer): ModelPart[] {
    const before = this.#before;
    this.#before = path && { path, order: part.order };
    if (!before || !path || !leadsTo(before.path, path)) return [];
    this.count++;
    const graphs = this.#graphs.get(path) ?? new Map<RouterPath, OpGraph>();
    this.#graphs.set(path, graphs);
    const graph = graphs.get(before.path) ?? likelyGraph(part.graph, path, before.path);
    graphs.set(before.path, graph);
    const experts = { role: 'likely', count, slots, topK, stacked } as const;
    // It runs within the layer before.
    return [{ ...part, name: `${part.name}, likely`, order: before.order, graph, grouped: [], experts }];
  }
}

function partsOf(part: ModelPart, { graphs, count, slots, topK, stacked }: CutLayer): ModelPart[] {
  return ROLES.map((role, i) => {
    const graph = graphs[i] as OpGraph;
    const isMain = role === 'route' || role === 'whole';
    return {
      ...part,
      name: role === 'route' ? part.name : `${part.name}, ${role === 'whole' ? 'experts' : role}`,
      graph,
      grouped: isMain ? (part.grouped ?? []).filter(({ state }) => graph.states.includes(state)) : [],
      experts: { role, count, slots, topK, stacked },
    };
  });
}

function routeOf({ ops }: OpGraph): RouteExpertsOp | undefined {
  return ops.find((op) => op.kind === 'routeExperts');
}

function cutLayer(graph: OpGraph, wanted: number, guesses: boolean): CutLayer | undefined {
  const route = routeOf(graph);
  if (!route) return undefined;
  const { expertIds, routingWeights, topK } = route;
  const count = route.logits.width;
  const slots = Math.min(count, wanted);
  const path = guesses ? routerPath(graph, route) : undefined;
  const bySlot = withSlots(graph, route, { slots, path });
  const stacked = new Set(bySlot.stacked);
  const [first, whole] = cutGraph(bySlot.graph, [expertIds]);
  const last = bySlot.graph.ops.findLast((op) =>
    operandsOf(op).some((operand) => operand === expertIds || operand === routingWeights || isSlots(operand)),
  );
  const [sum] = last ? resultsOf(last) : [];
  invariant(first && whole && sum && last !== bySlot.graph.ops.at(-1), 'a layer goes on behind its experts');
  checkBiases(bySlot.graph, route, sum);
  const group = input(graph, GROUP_WEIGHTS, routingWeights, 1);
  const grouped = replaced(bySlot.graph, route, new Map([[routingWeights, group]]));
  const [, one, after] = cutGraph(
    {
      ...grouped,
      inputs: [...grouped.inputs, group],
      outputs: [...grouped.outputs, { name: EXPERT_SUM, tensor: sum }],
    },
    [expertIds, sum],
  );
  invariant(one && after, 'the experts are followed by something');
  return {
    ...{ count, slots, topK, stacked, path },
    graphs: [first, whole, one, adding(one, sum), after],
  };
}

/** The graph with products that read experts' weights by their slots, and the names of these weights. */
function withSlots(
  graph: OpGraph,
  route: RouteExpertsOp,
  { slots, path }: { readonly slots: number; readonly path: RouterPath | undefined },
) {
  const { expertIds, routingWeights } = route;
  const count = route.logits.width;
  const slotIds = input(graph, EXPERT_SLOTS, expertIds, 0);
  const weights = new Map<Weight, Weight>();
  const few = (weight: Weight): Weight => {
    const made = weights.get(weight) ?? { ...weight, rows: (weight.rows / count) * slots };
    weights.set(weight, made);
    return made;
  };
  const ops = graph.ops.map((op): Op => {
    if (op.kind !== 'matmulExperts' || op.expertIds !== expertIds) return op;
    return { ...op, expertIds: slotIds, weight: few(op.weight), bias: op.bias && few(op.bias) };
  });
  return {
    stacked: [...weights.keys()].map(({ name }) => name),
    graph: {
      ...graph,
      ops,
      inputs: [...graph.inputs, slotIds],
      weights: graph.weights.map((weight) => weights.get(weight) ?? weight),
      outputs: [
        ...graph.outputs,
        { name: EXPERT_IDS, tensor: expertIds },
        { name: ROUTING_WEIGHTS, tensor: routingWeights },
        ...(path ? routerInputs(path) : []),
      ],
    },
  };
}

/** Routing weights on the inputs of experts make an expert's result zero only without biases. */
function checkBiases({ ops }: OpGraph, route: RouteExpertsOp, sum: Tensor): void {
  const weighted = ops.find((op) => operandsOf(op).includes(route.routingWeights));
  const isBiased = ops.some((op) => op.kind === 'matmulExperts' && isSlots(op.expertIds) && op.bias);
  if (!isBiased || !weighted || resultsOf(weighted).includes(sum)) return;
  const expected = 'device: its experts have biases behind weighted inputs';
  fail('INVALID_ARGUMENT', { name: 'experts', found: 'stream', expected });
}

/** The graph with some tensors replaced in all operators but `except`. */
function replaced(graph: OpGraph, except: Op, by: ReadonlyMap<Tensor, Tensor>): OpGraph {
  return { ...graph, ops: graph.ops.map((op) => (op === except ? op : exchanged(op, by))) };
}

/** The graph of a group whose result is added to the sum of the groups before it. */
function adding(graph: OpGraph, sum: Tensor): OpGraph {
  const before = input(graph, EARLIER_SUM, sum, 2);
  const out: Tensor = { ...before, id: before.id + 1, name: 'sum of groups', role: 'temp' };
  return {
    ...graph,
    inputs: [...graph.inputs, before],
    ops: [...graph.ops, { kind: 'add', a: before, b: sum, out }],
    outputs: graph.outputs.map((output) => (output.tensor === sum ? { ...output, tensor: out } : output)),
  };
}

/** An input like another tensor; `place` tells those of one graph apart. */
function input(graph: OpGraph, name: string, { type, axis, width }: Tensor, place: number): Tensor {
  const ids = [...graph.inputs, ...graph.ops.flatMap(resultsOf), ...graph.weights, ...graph.states];
  const id = 1 + ids.reduce((most, value) => Math.max(most, value.id), 0) + place;
  return { kind: 'tensor', id, name, role: 'input', type, axis, width };
}

function isSlots(operand: unknown): boolean {
  return (operand as Partial<Tensor>).name === EXPERT_SLOTS;
}

import { EXPERT_COPIES, EXPERT_USES, type HotExpertsOfLayer } from '../../model/expert-place.ts';
import type { ModelGraphs } from '../../model/model-graphs.ts';
import type { RouteExpertsOp } from '../../ops/experts/route-experts.ts';
import type { OpGraph } from '../../ops/graph.ts';
import { type Op, resultsOf } from '../../ops/op.ts';
import type { State, Weight } from '../../ops/value.ts';

/** A layer's graph, and what it says of its experts. */
interface HotLayer {
  readonly graph: OpGraph;
  readonly experts: HotExpertsOfLayer;
}

/**
 * The model's graphs with the experts of each layer in the host's memory and copies of at most `slots` of them on the device: their
 * products look up where each one is, and their routers count uses.
 */
export function hotGraphs(graphs: ModelGraphs, slots: number): ModelGraphs {
  const known = new Map<OpGraph, HotLayer | undefined>();
  const layers = graphs.layers.map((part) => {
    if (!known.has(part.graph)) known.set(part.graph, hotLayer(part.graph, slots));
    const hot = known.get(part.graph);
    return hot ? { ...part, graph: hot.graph, hotExperts: hot.experts } : part;
  });
  return { ...graphs, layers };
}

function hotLayer(graph: OpGraph, wanted: number): HotLayer | undefined {
  const route = graph.ops.find((op): op is RouteExpertsOp => op.kind === 'routeExperts');
  if (!route) return undefined;
  const { topK } = route;
  const count = route.logits.width;
  const slots = Math.min(count, wanted);
  let id = nextId(graph);
  const table = (name: string): State => {
    return { kind: 'state', id: id++, name, type: 'i32', rows: 1, width: count };
  };
  const [copied, uses] = [table(EXPERT_COPIES), table(EXPERT_USES)];
  /** By the layer's weight: that in the host's memory, and its copies. */
  const weights = new Map<Weight, readonly [Weight, Weight]>();
  const hotOf = (weight: Weight): readonly [Weight, Weight] => {
    const rows = (weight.rows / count) * slots;
    const made = weights.get(weight) ?? [
      { ...weight, place: 'host' as const },
      { ...weight, id: id++, rows, place: 'copies' as const },
    ];
    weights.set(weight, made);
    return made;
  };
  const ops = graph.ops.map((op): Op => {
    if (op === route) return { ...op, uses };
    if (op.kind !== 'matmulExperts' || op.expertIds !== route.expertIds) return op;
    const [weight, copies] = hotOf(op.weight);
    return { ...op, weight, hot: { weight: copies, slots: copied } };
  });
  const hot = {
    ...graph,
    ops,
    weights: graph.weights.flatMap((weight) => weights.get(weight) ?? [weight]),
    states: [...graph.states, copied, uses],
  };
  return { graph: hot, experts: { count, slots, topK } };
}

/** A number behind those of all values. */
function nextId({ inputs, ops, weights, states }: OpGraph): number {
  const values = [...inputs, ...ops.flatMap(resultsOf), ...weights, ...states];
  return 1 + values.reduce((most, value) => Math.max(most, value.id), 0);
}

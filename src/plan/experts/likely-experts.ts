import { LIKELY_IDS, ROUTER_INPUT } from '../../model/expert-place.ts';
import type { RouteExpertsOp } from '../../ops/experts/route-experts.ts';
import type { OpGraph, Output } from '../../ops/graph.ts';
import { type Op, operandsOf, resultsOf } from '../../ops/op.ts';
import type { State, Tensor, Weight } from '../../ops/value.ts';
import { exchanged } from '../../ops/cut-graph.ts';

/** What leads from the residual stream to a layer's choice of experts: usually a norm, the router's product and the choice. */
export interface RouterPath {
  /** The residual stream behind the attention, or that which enters the layer, f32 [rows, width]. */
  readonly from: Tensor;
  readonly ops: readonly Op[];
  readonly expertIds: Tensor;
}

/** The path to a layer's choice of experts; undefined if tokens determine the experts. */
export function routerPath({ ops }: OpGraph, route: RouteExpertsOp): RouterPath | undefined {
  if (route.chosen) return undefined;
  const path: Op[] = [route];
  let from = route.logits;
  for (;;) {
    const op = ops.find((maker) => resultsOf(maker).includes(from));
    if (!op) break;
    const values = operandsOf(op).filter(({ kind }) => kind !== 'weight');
    const [only] = values;
    if (values.length !== 1 || only?.kind !== 'tensor') break;
    path.unshift(op);
    from = only;
  }
  return { from, ops: path, expertIds: route.expertIds };
}

/** Whether the residual stream of one layer can be read by the router of another one. */
export function leadsTo({ from }: RouterPath, { from: wanted }: RouterPath): boolean {
  return from.width === wanted.width && from.axis === wanted.axis && from.type === wanted.type;
}

/** The name of the residual stream for the part that guesses by it. */
function nameOf({ from }: RouterPath): string {
  return from.role === 'input' ? from.name : ROUTER_INPUT;
}

/** What a layer hands on for it, unless it is an input. */
export function routerInputs(path: RouterPath): readonly Output[] {
  return path.from.role === 'input' ? [] : [{ name: ROUTER_INPUT, tensor: path.from }];
}

/**
 * The graph that guesses a layer's experts while the layer before it is computed: its router applied to the residual stream that
 * the router before it, at the end of the path `source`, read (Eliseev and Mazur 2023, "Fast inference of mixture-of-experts language models with offloading",
 * section 3.2). A residual stream changes little from one layer to the next one.
 */
export function likelyGraph(
  graph: OpGraph,
  { from, ops, expertIds }: RouterPath,
  source: RouterPath,
): OpGraph {
  const input: Tensor = { ...from, role: 'input', name: nameOf(source) };
  const read = new Set<unknown>(ops.flatMap(operandsOf));
  return {
    ...graph,
    inputs: [...graph.inputs.filter((other) => other.name !== input.name), input],
    outputs: [{ name: LIKELY_IDS, tensor: expertIds }],
    weights: graph.weights.filter((weight: Weight) => read.has(weight)),
    states: graph.states.filter((state: State) => read.has(state)),
    ops: ops.map((op) => exchanged(op, new Map([[from, input]]))),
  };
}

import { type OpGraph, type Output } from '../../ops/graph.ts';
import { type Op, operandsOf, resultsOf } from '../../ops/op.ts';
import type { State, Tensor, Weight } from '../../ops/value.ts';

/**
 * Cuts the graph into consecutive pieces after the operators that compute `values`. What a later piece reads of an
 * earlier one is an output there and an input here, with a unique name.
 */
export function cutGraph(graph: OpGraph, values: readonly Tensor[]): OpGraph[] {
  const places = values.map((value) => graph.ops.findIndex((op) => resultsOf(op).includes(value)) + 1);
  const ends = [...new Set([...places, graph.ops.length])].sort((a, b) => a - b);
  return ends.map((end, i) => pieceOf(graph, ends[i - 1] ?? 0, end));
}

/** The name of a tensor that crosses a cut, if it has none. */
export function crossingName(graph: OpGraph, tensor: Tensor): string {
  return graph.outputs.find((output) => output.tensor === tensor)?.name ?? `cut ${tensor.id}`;
}

function pieceOf(graph: OpGraph, start: number, end: number): OpGraph {
  const ops = graph.ops.slice(start, end);
  const made = new Set(ops.flatMap(resultsOf));
  const earlier = new Set(graph.ops.slice(0, start).flatMap(resultsOf));
  const arriving = new Map<Tensor, Tensor>();
  for (const tensor of tensorsRead(ops)) {
    if (earlier.has(tensor)) {
      arriving.set(tensor, { ...tensor, role: 'input', name: crossingName(graph, tensor) });
    }
  }
  const read = new Set<unknown>(ops.flatMap(operandsOf));
  return {
    ...graph,
    inputs: [...graph.inputs, ...arriving.values()],
    outputs: outputsOf(graph, made, tensorsRead(graph.ops.slice(end))),
    weights: graph.weights.filter((weight: Weight) => read.has(weight)),
    states: graph.states.filter((state: State) => read.has(state)),
    ops: ops.map((op) => exchanged(op, arriving)),
  };
}

function outputsOf(graph: OpGraph, made: ReadonlySet<Tensor>, later: ReadonlySet<Tensor>): Output[] {
  const own = graph.outputs.filter(({ tensor }) => made.has(tensor));
  const named = new Set(own.map(({ tensor }) => tensor));
  const leaving = [...later].filter((tensor) => made.has(tensor) && !named.has(tensor));
  return [...own, ...leaving.map((tensor) => ({ name: crossingName(graph, tensor), tensor }))];
}

function tensorsRead(ops: readonly Op[]): Set<Tensor> {
  const operands = ops.flatMap(operandsOf);
  return new Set(operands.filter((operand): operand is Tensor => operand.kind === 'tensor'));
}

/** An operator with some of its tensors replaced by others. */
export function exchanged<T>(value: T, by: ReadonlyMap<Tensor, Tensor>): T {
  if (typeof value !== 'object' || value === null) return value;
  const { kind } = value as { kind?: unknown };
  if (kind === 'tensor') return (by.get(value as unknown as Tensor) ?? value) as T;
  if (kind === 'weight' || kind === 'state') return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, exchanged(part, by)])) as T;
}

import { type OpGraph, type Output } from './graph.ts';
import { type Op, operandsOf, resultsOf } from './op.ts';
import type { State, Tensor, Value, Weight } from './value.ts';

/**
 * Cuts the graph into consecutive pieces after the operators that compute `values`. What a later piece reads of an
 * earlier one is an output there and an input here, with a unique name.
 */
export function cutGraph(graph: OpGraph, values: readonly Tensor[]): OpGraph[] {
  const places = values.map((value) => graph.ops.findIndex((op) => resultsOf(op).includes(value)) + 1);
  return cutGraphAt(graph, places);
}

/** Cuts the graph like `cutGraph`, before the operators of these indices. */
export function cutGraphAt(graph: OpGraph, places: readonly number[]): OpGraph[] {
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

/** Every tensor that operators read, the places of rows among them. */
function tensorsRead(ops: readonly Op[]): Set<Tensor> {
  const read = new Set<Tensor>();
  for (const op of ops) {
    const made = new Set<unknown>(resultsOf(op));
    for (const field of Object.values(op)) addTensors(field, made, read);
  }
  return read;
}

function addTensors(value: unknown, made: ReadonlySet<unknown>, read: Set<Tensor>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || made.has(value)) return;
  const { kind } = value as { kind?: unknown };
  if (kind === 'tensor') read.add(value as Tensor);
  else if (kind !== 'weight' && kind !== 'state') {
    for (const field of Object.values(value)) addTensors(field, made, read);
  }
}

/** An operator with some of its values replaced by others. */
export function exchanged<T>(value: T, by: ReadonlyMap<Value, Value>): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { kind } = value as { kind?: unknown };
  if (kind === 'tensor' || kind === 'weight' || kind === 'state') {
    return (by.get(value as unknown as Value) ?? value) as T;
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, exchanged(part, by)])) as T;
}

import { fail } from '../../base/errors.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ModelGraphs, ModelPart } from '../../model/model-graphs.ts';
import { crossingName, cutGraph } from '../../ops/cut-graph.ts';
import { valueNames } from './value-names.ts';

/**
 * The model's graphs with layers cut into pieces, so that every value of `names` is in memory between two of them.
 * Throws `INVALID_ARGUMENT` for unknown names.
 */
export function tapGraphs(graphs: ModelGraphs, names: readonly string[]): ModelGraphs {
  const wanted = new Set(names);
  const tapped = (part: ModelPart): ModelPart[] => tapPart(part, wanted);
  const [embedding] = tapped(graphs.embedding) as [ModelPart];
  const layers = graphs.layers.flatMap(tapped);
  const [head] = tapped(graphs.head) as [ModelPart];
  for (const name of wanted) {
    const expected = 'a value of a layer (blk.0.attn_q, blk.0.attention), embedding or logits';
    fail('INVALID_ARGUMENT', { name: 'tap', found: name, expected });
  }
  return { ...graphs, embedding, layers, head };
}

/** Cuts a part into pieces; the names that it has are removed from `wanted`. */
function tapPart(part: ModelPart, wanted: Set<string>): ModelPart[] {
  const { graph } = part;
  const found = new Map<Tensor, string>();
  for (const [name, tensor] of tappableValues(part)) {
    if (wanted.delete(name)) found.set(tensor, name);
  }
  if (found.size === 0) return [part];
  // Only the final results of embedding and head can be tapped.
  const pieces = part.prefix === '' ? [graph] : cutGraph(graph, [...found.keys()]);
  return pieces.map((piece, i) => ({
    ...part,
    name: i === 0 ? part.name : `${part.name}, piece ${i + 1}`,
    graph: piece,
    grouped: (part.grouped ?? []).filter(({ state }) => piece.states.includes(state)),
    taps: piece.outputs.flatMap(({ tensor }) => {
      const name = found.get(tensor);
      return name === undefined ? [] : [{ name, output: crossingName(graph, tensor), tensor }];
    }),
  }));
}

/** Values of a layer by name; for embedding and head only the result. */
function tappableValues({ graph, prefix, name }: ModelPart): [string, Tensor][] {
  if (prefix !== '') return [...valueNames(graph)].map(([value, tensor]) => [prefix + value, tensor]);
  const last = graph.outputs.find((output) => output.name === (name === 'head' ? 'logits' : 'x'));
  return last ? [[name === 'head' ? 'logits' : name, last.tensor]] : [];
}

import { invariant } from '../../base/errors.ts';
import { formatOf } from '../../formats/index.ts';
import type { OpGraph, State, Tensor, Weight } from '../../ops/index.ts';

type Value = Tensor | Weight | State;

/** A weight with the id of its format. */
export type SentWeight = Omit<Weight, 'format'> & { readonly format: number };

/** A graph as it crosses: its values once each, and the rest with references to them. */
export interface SentGraph {
  readonly values: readonly (Tensor | State | SentWeight)[];
  readonly graph: unknown;
}

/** Stands for a value: its place in `SentGraph.values`. */
interface Reference {
  readonly $value: number;
}

/** Stands for a number that JSON does not have. */
interface OddNumber {
  readonly $number: string;
}

/** Takes a graph apart. Graphs are numbers, names and values: that is an invariant. */
export function packGraph(graph: OpGraph): SentGraph {
  const places = new Map<Value, number>();
  const refer = (value: Value): Reference => {
    const place = places.get(value) ?? places.size;
    places.set(value, place);
    return { $value: place };
  };
  const packed = mapTree(graph, (node) => {
    if (isValue(node)) return refer(node);
    if (typeof node === 'number' && !Number.isFinite(node))
      return { $number: String(node) } satisfies OddNumber;
    const isPlain = node === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof node);
    invariant(isPlain || isTree(node), `${graph.name} consists of what can be written down`);
    return isPlain ? node : undefined;
  });
  const values = [...places.keys()].map((value) => (value.kind === 'weight' ? packWeight(value) : value));
  return { values, graph: packed };
}

/** Puts it together again, with values that are the same object wherever they stand. Throws for what is no graph. */
export function unpackGraph(sent: unknown): OpGraph {
  const { values, graph } = sent as Partial<SentGraph>;
  if (!Array.isArray(values) || !isTree(graph)) throw new RangeError('a graph has values and operators');
  const own = values.map((value: Tensor | State | SentWeight) =>
    value.kind === 'weight' ? unpackWeight(value) : value,
  );
  return mapTree(graph, (node) => {
    if (!isTree(node)) return node;
    if ('$value' in node && typeof node.$value === 'number') {
      const value = own[node.$value];
      if (!value) throw new RangeError(`a graph refers to value ${node.$value} of ${own.length}`);
      return value;
    }
    return '$number' in node && typeof node.$number === 'string' ? Number(node.$number) : undefined;
  }) as OpGraph;
}

/** A weight as it crosses. */
export function packWeight(weight: Weight): SentWeight {
  return { ...weight, format: weight.format.ggmlType };
}

/** Throws for a format that is not known here. */
export function unpackWeight(weight: SentWeight): Weight {
  const format = formatOf(weight.format);
  if (!format) throw new RangeError(`${weight.name} has the unknown format ${weight.format}`);
  return { ...weight, format };
}

/** A copy of a tree in which `of` says what becomes of a node; undefined for one that is copied, with what is in it. */
function mapTree(tree: unknown, of: (node: unknown) => unknown): unknown {
  const found = of(tree);
  if (found !== undefined || !isTree(tree)) return found;
  if (Array.isArray(tree)) return tree.map((item: unknown) => mapTree(item, of));
  return Object.fromEntries(Object.entries(tree).map(([name, item]) => [name, mapTree(item, of)]));
}

function isTree(node: unknown): node is object {
  if (typeof node !== 'object' || node === null) return false;
  return Array.isArray(node) || Object.getPrototypeOf(node) === Object.prototype;
}

function isValue(node: unknown): node is Value {
  if (!isTree(node) || !('kind' in node) || !('id' in node)) return false;
  return node.kind === 'tensor' || node.kind === 'weight' || node.kind === 'state';
}

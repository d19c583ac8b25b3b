import { type Op, type OpGraph, operandsOf, resultsOf, type Tensor } from '../../ops/index.ts';

/** The producers and consumers of a graph's tensors. */
export class GraphUses {
  readonly #producers = new Map<Tensor, Op>();
  readonly #readers = new Map<Tensor, Op[]>();
  readonly #places = new Map<Op, number>();
  readonly #outputs: ReadonlySet<Tensor>;

  constructor(graph: OpGraph) {
    this.#outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
    graph.ops.forEach((op, index) => {
      this.#places.set(op, index);
      for (const result of resultsOf(op)) this.#producers.set(result, op);
      for (const operand of operandsOf(op)) {
        if (operand.kind !== 'tensor') continue;
        this.#readers.set(operand, [...(this.#readers.get(operand) ?? []), op]);
      }
    });
  }

  /** The operator that computes the tensor; undefined for inputs. */
  producer(tensor: Tensor): Op | undefined {
    return this.#producers.get(tensor);
  }

  /** The operator's index in the graph. */
  place(op: Op): number {
    return this.#places.get(op) ?? -1;
  }

  /** The consumers of a tensor that is not an output; empty for outputs. */
  readers(tensor: Tensor): readonly Op[] {
    return this.#outputs.has(tensor) ? [] : (this.#readers.get(tensor) ?? []);
  }

  /** The only consumer of a tensor that is not an output. */
  onlyReader(tensor: Tensor): Op | undefined {
    const [reader, ...others] = this.readers(tensor);
    return others.length === 0 ? reader : undefined;
  }
}

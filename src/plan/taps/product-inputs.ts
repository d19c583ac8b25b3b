import type { ModelGraphs, ModelPart } from '../../model/model-graphs.ts';
import type { Op } from '../../ops/op.ts';
import type { Tensor, Weight } from '../../ops/value.ts';
import { valueNames } from './value-names.ts';

/** A product with a weight of the layers, and the taps that show what it multiplies. */
export interface ProductInput {
  /** The weight's name in the file. */
  readonly weight: string;
  /** Values of a matrix's row. */
  readonly columns: number;
  /** Matrices that each multiply their own part of a row: heads. 1 for most weights. */
  readonly parts: number;
  /** Experts, of which each row is multiplied by some. */
  readonly experts: number;
  /** The value that is multiplied; undefined if no tap shows it. */
  readonly tap: string | undefined;
  /** The value that says which experts each row has. */
  readonly choices?: string | undefined;
}

/** The products of all layers, in order. */
export function productInputs({ embedding, layers }: ModelGraphs): ProductInput[] {
  const inputs: ProductInput[] = [];
  let before: string | undefined = embedding.name;
  for (const part of layers) {
    const names = namesOf(part, before);
    for (const op of part.graph.ops) {
      const input = inputOf(op, part, names);
      if (input) inputs.push(input);
    }
    const last = part.graph.outputs.find(({ name }) => name === 'x');
    before = last && names.get(last.tensor);
  }
  return inputs;
}

/** The names of a layer's values, and of what it reads of the part before it. */
function namesOf({ graph, prefix }: ModelPart, before: string | undefined): ReadonlyMap<Tensor, string> {
  const names = new Map<Tensor, string>();
  const arriving = graph.inputs.find(({ name }) => name === 'x');
  if (arriving && before !== undefined) names.set(arriving, before);
  for (const [name, tensor] of valueNames(graph)) names.set(tensor, prefix + name);
  return names;
}

function inputOf(
  op: Op,
  { prefix }: ModelPart,
  names: ReadonlyMap<Tensor, string>,
): ProductInput | undefined {
  const product = (x: Tensor, { name, columns }: Weight) => ({
    weight: prefix + name,
    columns,
    parts: 1,
    experts: 1,
    tap: names.get(x),
  });
  if (op.kind === 'matmul') return product(op.x, op.weight);
  if (op.kind === 'matmulHeads') return { ...product(op.x, op.weight), parts: op.heads };
  if (op.kind !== 'matmulExperts') return undefined;
  const experts = op.weight.rows / op.outputs;
  return { ...product(op.x, op.weight), experts, choices: names.get(op.expertIds) };
}

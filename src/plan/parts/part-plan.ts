import { fail, invariant } from '../../base/errors.ts';
import { BUFFER_ALIGNMENT, type PackedWeight, type Program } from '../../device/index.ts';
import { LazyTensor } from '../../load/lazy-tensor.ts';
import type { ExpertPiece, HotExpertsOfLayer } from '../../model/expert-place.ts';
import type { TensorIndex } from '../../model/part-scope.ts';
import type { ModelPart } from '../../model/model-graphs.ts';

/**
 * The weights of a model without duplicates: the same tensors in the same layout are one weight, whichever programs
 * read them.
 */
export class WeightTable {
  readonly #tensors: TensorIndex;
  readonly #known = new Map<string, LazyTensor>();

  constructor(tensors: TensorIndex) {
    this.#tensors = tensors;
  }

  /** The weight that a program of this part needs. */
  get(packed: PackedWeight, { prefix, experts, hotExperts }: ModelPart): LazyTensor {
    const tensors = packed.parts.map(({ name }) => {
      const tensor = this.#tensors.get(prefix + name);
      invariant(tensor, `${prefix}${name} was in the file when the graph was recorded`);
      return tensor;
    });
    const stacked = experts && packed.parts.some(({ name }) => experts.stacked.has(name));
    if (stacked) checkSlots(packed, experts);
    const hot = packed.parts[0]?.place === 'copies' ? hotExperts : undefined;
    if (hot) checkCopies(packed, hot);
    const weight = new LazyTensor({ packed, tensors, slots: stacked ? experts : hot });
    const known = this.#known.get(weight.key) ?? weight;
    this.#known.set(weight.key, known);
    return known;
  }
}

/** Throws `INVALID_ARGUMENT` if the rows of an expert cannot be packed separately from other experts'. */
function checkSlots({ parts, rowAlignment }: PackedWeight, { slots }: ExpertPiece): void {
  for (const { name, rows } of parts) {
    const each = rows / slots;
    if (each % rowAlignment === 0) continue;
    const expected = `device: ${name} has ${each} rows an expert, not a multiple of ${rowAlignment}`;
    fail('INVALID_ARGUMENT', { name: 'experts', found: 'stream', expected });
  }
}

/** Throws `INVALID_ARGUMENT` if a copy of an expert would not be a range of a buffer. */
function checkCopies({ parts, byteLength }: PackedWeight, { slots }: HotExpertsOfLayer): void {
  const each = byteLength / slots;
  if (each % BUFFER_ALIGNMENT === 0) return;
  const expected = `stream: ${parts[0]?.name} has ${each} bytes an expert, not a multiple of ${BUFFER_ALIGNMENT}`;
  fail('INVALID_ARGUMENT', { name: 'experts', found: 'host', expected });
}

/**
 * One compiled part of the model: the program that runs it and the weights that it reads. The original design called
 * that of a layer a LayerPlan.
 */
export class PartPlan {
  /** The model's weights by the program's. */
  readonly weights: ReadonlyMap<PackedWeight, LazyTensor>;

  constructor(
    readonly part: ModelPart,
    readonly program: Program,
    weights: WeightTable,
  ) {
    this.weights = new Map(program.weights.map((packed) => [packed, weights.get(packed, part)]));
  }
}

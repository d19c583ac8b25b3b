import { invariant } from '../../base/errors.ts';
import type { PackedWeight, Program } from '../../device/index.ts';
import type { TensorInfo } from '../../gguf/tensor-info.ts';
import type { TensorIndex } from '../../model/part-scope.ts';
import type { ModelPart } from '../../model/model-graphs.ts';

/** A packed weight of one part, with the file's tensors it is made of. */
export interface PlannedWeight {
  readonly packed: PackedWeight;
  readonly tensors: readonly TensorInfo[];
  /** Equal for weights that can share memory: same tensors, same layout. */
  readonly key: string;
}

/**
 * One part of the model, compiled: which program runs it and which of the file's tensors it reads. That of a layer is what the
 * first design called a LayerPlan.
 */
export class PartPlan {
  readonly weights: readonly PlannedWeight[];

  constructor(
    readonly part: ModelPart,
    readonly program: Program,
    tensors: TensorIndex,
  ) {
    this.weights = program.weights.map((packed) => {
      const parts = packed.parts.map(({ name }) => {
        const tensor = tensors.get(part.prefix + name);
        invariant(tensor, `${part.prefix}${name} was in the file when the graph was recorded`);
        return tensor;
      });
      return { packed, tensors: parts, key: [packed.layout, ...parts.map(({ name }) => name)].join(' ') };
    });
  }
}

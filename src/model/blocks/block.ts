import type { Tensor } from '../../ops/value.ts';
import type { LayerStates } from '../layer-states.ts';
import type { PartScope } from '../part-scope.ts';
import type { StateGroup } from '../state-groups.ts';

/** What a block records with, beside its input and its layer's weights. */
export interface LayerInputs {
  readonly index: number;
  /** What the embedding part and earlier layers hand on to every layer, by the names they gave. */
  readonly shared: ReadonlyMap<string, Tensor>;
  /** Passes a result of this layer on to every later one. */
  readonly share: (name: string, tensor: Tensor) => void;
  /** Declares what the layer keeps of its sequences between steps. */
  readonly states: LayerStates;
}

/**
 * What a layer computes between its norms: attention, a feed-forward, a mixture of experts, a recurrence. A block is made of a
 * description of its sizes, which layers may differ in, and records operators; it knows no device.
 */
export interface Block<out Kind extends string = string, out Spec = unknown> {
  /** What it is, for those who look at a model. */
  readonly kind: Kind;
  /** Its sizes and switches. */
  readonly spec: Spec;
  /** The group of what it remembers of a sequence between steps. Default: it remembers nothing. */
  readonly state?: StateGroup;
  /**
   * Records the block over `x`, f32 [rows, width]: what is added to the residual stream, f32 [rows, width].
   * @internal
   */
  record(scope: PartScope, x: Tensor, layer: LayerInputs): Tensor;
}

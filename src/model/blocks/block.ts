import type { Tensor } from '../../ops/value.ts';
import type { LayerStates } from '../layer-states.ts';
import type { PartScope } from '../part-scope.ts';
import type { StateGroup } from '../state-groups.ts';

/** What a layer is recorded with. */
export type LayerContext = Omit<LayerInputs, 'entering'>;

/** The inputs of a block besides its activations and its layer's weights. */
export interface LayerInputs {
  readonly index: number;
  /** The residual stream as it enters the layer, f32 [rows, width]. */
  readonly entering: Tensor;
  /** Values that the embedding part and earlier layers share with every layer, by name. */
  readonly shared: ReadonlyMap<string, Tensor>;
  /** Shares a result of this layer with every later one. */
  readonly share: (name: string, tensor: Tensor) => void;
  /** Declares the state that the layer keeps per sequence between steps. */
  readonly states: LayerStates;
}

/**
 * What a layer computes between its norms: attention, a feed-forward, experts, a recurrence. A block is created from
 * its sizes, which may differ between layers, and records operators; it knows no device.
 */
export interface Block<out Kind extends string = string, out Spec = unknown> {
  /** Its kind, for inspection. */
  readonly kind: Kind;
  /** Its sizes and options. */
  readonly spec: Spec;
  /** The group of its sequence state, or several. Default: it has none. */
  readonly state?: StateGroup | readonly StateGroup[];
  /**
   * Records the block on `x`, f32 [rows, width]; returns what is added to the residual stream, f32 [rows, width].
   * @internal
   */
  record(scope: PartScope, x: Tensor, layer: LayerInputs): Tensor;
}

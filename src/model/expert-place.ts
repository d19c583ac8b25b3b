/** Every `ExpertPlace`. */
export const EXPERT_PLACES = ['device', 'host', 'stream'] as const;

/**
 * Where the experts of a mixture are: all of them on the device; all in the host's memory, where kernels read them, with copies of
 * the most used ones on the device, as many as fit; or only these, while the others are streamed when a step's rows choose them.
 */
export type ExpertPlace = (typeof EXPERT_PLACES)[number];

/** A layer whose experts are in the host's memory. */
export interface HotExpertsOfLayer {
  /** Experts of the layer, and of how many there is room for copies on the device. */
  readonly count: number;
  readonly slots: number;
  /** Experts per row. */
  readonly topK: number;
}

/** Which copy each expert of a layer has, or -1, i32 [1, experts]: a state that the host writes. */
export const EXPERT_COPIES = 'expert copies';

/** How often each expert of a layer was chosen, i32 [1, experts]: a state that steps add to. */
export const EXPERT_USES = 'expert uses';

/** What a part of a layer with streamed experts computes. */
export interface ExpertPiece {
  /**
   * `route`: everything up to the choice of experts. `whole`: the rest of the layer, if all chosen experts have slots
   * at once. Otherwise they pass through the slots in groups: `first` computes the experts of the first group, `more`
   * those of a further one, added to the sum so far, and `after` what follows them. `likely` guesses the layer's experts while the
   * layer before it is computed.
   */
  readonly role: 'likely' | 'route' | 'whole' | 'first' | 'more' | 'after';
  /** Experts of the layer, and how many of them have a slot. */
  readonly count: number;
  readonly slots: number;
  /** Experts per row. */
  readonly topK: number;
  /** Names of the weights that have one matrix, or bias, for each expert. */
  readonly stacked: ReadonlySet<string>;
}

/** The chosen experts, i32 [rows, topK]: an output of `route`. */
export const EXPERT_IDS = 'expert ids';

/** Their routing weights, f32 [rows, topK]: an output of `route`. */
export const ROUTING_WEIGHTS = 'routing weights';

/** The slots of the chosen experts, i32 [rows, topK]: an input of all parts behind `route`. */
export const EXPERT_SLOTS = 'expert slots';

/** The routing weights of a group of experts, zero for all others, f32 [rows, topK]: an input of `first` and `more`. */
export const GROUP_WEIGHTS = 'group weights';

/** The sum of the experts so far, f32 [rows, width]: computed by `first` and `more`, and read by `after`. */
export const EXPERT_SUM = 'expert sum';

/** The sum before the group, an input of `more`. */
export const EARLIER_SUM = 'earlier sum';

/** The residual stream that a layer's router reads behind a norm, f32 [rows, width]: an output of `route`, read by the next `likely`. */
export const ROUTER_INPUT = 'router input';

/** The experts that a layer will probably choose, i32 [rows, topK], the likeliest first: the output of `likely`. */
export const LIKELY_IDS = 'likely expert ids';

/** A value of the model while a step runs. */
export interface TappedValue {
  /** `blk.3.attn_output`: the part's prefix and the value's name within the part. */
  readonly name: string;
  readonly rows: number;
  readonly width: number;
  /** The rows in use, contiguous; the handler may keep it. */
  readonly values: Float32Array;
}

/** Receives a value. A returned array of the same length replaces the value. */
export type TapHandler = (value: TappedValue) => Float32Array | undefined;

/** Handlers by the names of their values. */
export type Taps = ReadonlyMap<string, TapHandler>;

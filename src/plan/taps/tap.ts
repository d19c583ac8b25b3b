/** A value of the model while a step runs. */
export interface TappedValue {
  /** `blk.3.attn_output`: the part's prefix, and the value's name within the part. */
  readonly name: string;
  readonly rows: number;
  readonly width: number;
  /** The rows in use, one behind the other; the handler's own. */
  readonly values: Float32Array;
}

/** Looks at a value. What it returns, of the same length, takes the value's place. */
export type TapHandler = (value: TappedValue) => Float32Array | undefined;

/** Who looks at which values, by their names. */
export type Taps = ReadonlyMap<string, TapHandler>;

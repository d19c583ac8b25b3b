/**
 * Inverse scales that are tried beside the range's own, in shares of it: the code of the largest value is `limit` plus
 * `from` plus a multiple of `step`. With outliers a shorter range has the smaller error.
 */
export interface AffineSearch {
  readonly from: number;
  readonly step: number;
  readonly count: number;
  /** Whether magnitudes of errors are compared, in place of their squares. */
  readonly magnitudes?: true;
}

/**
 * The searches for the scales of a block's groups, which is where the time of encoding goes. `values` and `weights` are written
 * first: the block's elements, and how much the square of each one's error counts. A call leaves its results, one for each group,
 * in `scales` and `mins`, where they are until the next one.
 */
export interface GroupFits {
  readonly values: Float32Array;
  readonly weights: Float32Array;
  readonly scales: Float32Array;
  readonly mins: Float32Array;
  /** Scales and mins of codes 0 to `limit` for groups of `size` elements: `fitAffine`. */
  affine(size: number, limit: number, search: AffineSearch): void;
  /** Scales of codes `-limit` to `limit - 1`: `fitSigned`. */
  signed(size: number, limit: number): void;
  /** The same with codes that are improved one by one: `refineSigned`. */
  refined(size: number, limit: number): void;
  /** Scales of 16 ascending levels for groups of 32 elements: `fitTable`. */
  table(levels: Int8Array): void;
}

/** How elements are encoded. */
export interface EncodeOptions {
  /** A number for each element of one row, which all elements are then: how much the square of its error counts. */
  readonly importance?: Float32Array | undefined;
  /** What scales are searched with, if not with `PlainFits`. */
  readonly fits?: GroupFits | undefined;
}

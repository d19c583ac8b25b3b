/** Logits of a block of `BlockMaxima`. */
export const MAXIMA_BLOCK = 64;

/** The largest logit of each block of a row. Passes that look for large logits read those blocks alone that hold some. */
export interface BlockMaxima {
  /** f32 [ceil(vocabulary / MAXIMA_BLOCK)]; not defined for blocks with a NaN. */
  readonly values: Float32Array;
  /** Whether a logit is NaN or infinite. */
  readonly hasSpecial: boolean;
}

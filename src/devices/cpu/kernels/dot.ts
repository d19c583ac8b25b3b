/**
 * Products of quantized activations (`x`, signed bytes) with quantized weights, four rows at a time.
 *
 * A *vector* of weights holds four neighbouring columns of four rows, a byte each: lanes 4r .. 4r + 3 are row r. It meets
 * the four activations of these columns, repeated four times. All of it is integer arithmetic without overflow, so every
 * order of additions and both builds (relaxed and baseline SIMD) give the same sums.
 *
 * The `sum16*` functions multiply 16 columns: four vectors of weights by four repeated quadruples of activations.
 */

/** Lanes 2i, 2i + 1 multiplied and added to 16 bits: exact, because weights are 0 .. 127 and activations -127 .. 127. */
@inline
export function dotPairs(x: v128, weights: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i16x8.relaxed_dot_i8x16_i7x16_s(x, weights);
  return i16x8.add(
    i16x8.mul(i16x8.shr_s(i16x8.shl(x, 8), 8), v128.and(weights, i16x8.splat(255))),
    i16x8.mul(i16x8.shr_s(x, 8), i16x8.shr_u(weights, 8)),
  );
}

@inline
export function lowNibbles(q: v128): v128 {
  return v128.and(q, i8x16.splat(15));
}

@inline
export function highNibbles(q: v128): v128 {
  return v128.and(i16x8.shr_u(q, 4), i8x16.splat(15));
}

/** Neighbouring 16-bit lanes added to 32 bits: a sum a row. */
@inline
export function rowSums(pairs: v128): v128 {
  return i32x4.dot_i16x8_s(pairs, i16x8.splat(1));
}

/** Weights up to 15: 16 bits hold the sum of eight vectors. */
@inline
export function sum16Small(x0: v128, x1: v128, x2: v128, x3: v128, w0: v128, w1: v128, w2: v128, w3: v128): v128 {
  return i16x8.add(
    i16x8.add(dotPairs(x0, w0), dotPairs(x1, w1)),
    i16x8.add(dotPairs(x2, w2), dotPairs(x3, w3)),
  );
}

/** Weights up to 63: 16 bits hold the sum of two vectors. Gives 32-bit row sums times `by`: ones, or each row's sub-scale twice. */
@inline
export function sum16Medium(x0: v128, x1: v128, x2: v128, x3: v128, w0: v128, w1: v128, w2: v128, w3: v128, by: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.add(dotPairs(x0, w0), dotPairs(x1, w1)), by),
    i32x4.dot_i16x8_s(i16x8.add(dotPairs(x2, w2), dotPairs(x3, w3)), by),
  );
}

/** Weights up to 127: 16 bits hold one vector's sum. Gives 32-bit row sums times `by`: ones, or each row's sub-scale twice. */
@inline
export function sum16Large(x0: v128, x1: v128, x2: v128, x3: v128, w0: v128, w1: v128, w2: v128, w3: v128, by: v128): v128 {
  return i32x4.add(
    i32x4.add(
      i32x4.dot_i16x8_s(dotPairs(x0, w0), by),
      i32x4.dot_i16x8_s(dotPairs(x1, w1), by),
    ),
    i32x4.add(
      i32x4.dot_i16x8_s(dotPairs(x2, w2), by),
      i32x4.dot_i16x8_s(dotPairs(x3, w3), by),
    ),
  );
}

/** Codes (below 16) looked up. */
@inline
export function lookUp(table: v128, codes: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i8x16.relaxed_swizzle(table, codes);
  return i8x16.swizzle(table, codes);
}

// What every kernel for attention does to scores, and what it divides the values' sums by. `Scores` and the kernels' parameters
// for it are made of SCORE_PARAMETERS in src/ops/attention.ts.
#pragma once
#include "functions.h"
#include "score-parameters.h"

/// Less than every score.
constexpr f32 LOWEST = -1e30f;

/// The factor of a row's queries, which looks as far as `last`.
DEVICE f32 scale_at(i32 last, const Scores& of) {
  if (of.temperature_scale == 0) return of.scale;
  return of.scale * (1.0f + of.temperature_scale * f32(logarithm(f64(1 + (last + of.temperature_offset) / of.temperature_length))));
}

DEVICE f32 capped(f32 score, const Scores& of) {
  return of.soft_cap > 0 ? of.soft_cap * hyperbolic_tangent(score / of.soft_cap) : score;
}

/// What the sums of a query head's values are divided by, beside its largest score.
DEVICE f32 denominator(f32 largest, f32 total, i32 head, const Scores& of) {
  return of.sinks ? total + softmax_weight(of.sinks[head] - largest) : total;
}

/// What a position adds to a head's scores: `alibiSlope` in src/ops/attention.ts. 0 unless kernels are compiled with ALIBI.
DEVICE f32 alibi_slope([[maybe_unused]] i32 head, [[maybe_unused]] const Scores& of) {
#if ALIBI
  f32 step = head < of.alibi_heads ? f32(head + 1) : f32(head - of.alibi_heads) + 0.5f;
  return hardware_exp2(-of.alibi_bias * step / f32(of.alibi_heads));
#else
  return 0;
#endif
}

/// A score with the bias of a position `distance` from the row's, or from the last one that it looks at, on either side.
DEVICE f32 biased(f32 score, [[maybe_unused]] f32 slope, [[maybe_unused]] i32 distance) {
#if ALIBI
  return fused_multiply_add(slope, -f32(distance < 0 ? -distance : distance), score);
#else
  return score;
#endif
}

/// True where a row that looks as far as `last` looks at a position.
DEVICE bool is_visible(i32 last, i32 position, const Scores& of) {
  if (of.chunk > 0) return position <= last && position >= last / of.chunk * of.chunk;
  return position <= last && (of.window <= 0 || position > last - of.window);
}

/// The first position that a row that looks as far as `last` looks at.
DEVICE i32 first_visible(i32 last, const Scores& of) {
  if (of.chunk > 0) return last / of.chunk * of.chunk;
  return of.window > 0 && last >= of.window ? last - of.window + 1 : 0;
}

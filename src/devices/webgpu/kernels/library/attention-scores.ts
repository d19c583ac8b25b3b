/**
 * What every kernel for attention does to scores. Wants `FUNCTIONS`, and the constants that are made of `SCORE_PARAMETERS` in
 * `src/ops/attention.ts`.
 */
export const ATTENTION_SCORES = /* wgsl */ `
// Less than every score.
const LOWEST = -1e30;

fn capped(score: f32) -> f32 {
  if (SOFT_CAP > 0.0) { return SOFT_CAP * hyperbolic_tangent(score / SOFT_CAP); }
  return score;
}

// The first position that a row looks at which looks as far as last.
fn first_seen(last: u32) -> u32 { return select(0u, last + 1u - WINDOW, WINDOW > 0u && last >= WINDOW); }
`;

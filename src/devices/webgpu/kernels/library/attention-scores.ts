import type { ScoreParameters } from '../../../../ops/index.ts';

/** Minus `alibiSlope` in `src/ops/attention.ts` times the distance. */
const ALIBI = /* wgsl */ `
  let step = select(f32(head) - f32(ALIBI_HEADS) + 0.5, f32(head) + 1.0, head < ALIBI_HEADS);
  return fma(exp2(-ALIBI_BIAS * step / f32(ALIBI_HEADS)), -abs(f32(position) - f32(last)), score);`;

/**
 * What every kernel for attention does to scores, and what it divides the values' sums by. Requires `FUNCTIONS`, and the constants and
 * bindings that are made of `SCORE_PARAMETERS` in `src/ops/attention.ts`.
 */
export function scoreText({ sinks, temperatureScale, chunk, alibiBias }: ScoreParameters): string {
  return /* wgsl */ `
// Less than every score.
const LOWEST = -1e30;

// The factor of a row's queries which looks as far as last.
fn scale_at(last: u32) -> f32 {
  return SCALE${temperatureScale ? ' * fma(TEMPERATURE_SCALE, logarithm(f32(1u + (last + TEMPERATURE_OFFSET) / TEMPERATURE_LENGTH)), 1.0)' : ''};
}

fn capped(score: f32) -> f32 {
  if (SOFT_CAP > 0.0) { return SOFT_CAP * hyperbolic_tangent(score / SOFT_CAP); }
  return score;
}

// The first position that a row looks at which looks as far as last.
fn first_visible(last: u32) -> u32 { return ${chunk ? 'last / CHUNK * CHUNK' : 'select(0u, last + 1u - WINDOW, WINDOW > 0u && last >= WINDOW)'}; }

// A score with what a position adds whose distance is measured from last (ALiBi).
fn biased(score: f32, head: u32, position: u32, last: u32) -> f32 {
  ${alibiBias ? ALIBI : 'return score;'}
}

// What the sums of a query head's values are divided by, beside its largest score.
fn denominator(largest: f32, total: f32, head: u32) -> f32 {
  return total${sinks ? ' + exponential(sinks[head] - largest)' : ''};
}
`;
}

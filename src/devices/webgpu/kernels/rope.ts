import { floatText } from './library/float-text.ts';

/**
 * What `RopeAngles` computes, with the same roundings: (cos, sin) of a pair for the row's position; MSCALE is below 0 for rotations back. `extrapolated_angle` and
 * `theta_of` are texts of their own.
 */
export const ROPE_TABLE = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  opaque_zero = u32(counts[0]) >> 31u;
  let row = group.x;
  let pair = group.y * THREADS + thread;
  if (row >= u32(counts[COUNT]) || pair >= PAIRS) { return; }
  var angle = f32(positions[row >> 2u][row & 3u]);
  for (var i = 0u; i < pair; i++) { angle = opaque_value(angle * THETA_SCALE); }
  let extrapolated = extrapolated_angle(angle, pair);
  let theta = theta_of(extrapolated, opaque_value(FREQ_SCALE * extrapolated), pair);
  let rotated = cosine_and_sine(theta) * vec2<f32>(abs(MSCALE), MSCALE);
  let at = (row * PAIRS + pair) * 2u;
  y[at] = rotated.x;
  y[at + 1u] = rotated.y;
}
`;

export const PLAIN_ANGLE = `fn extrapolated_angle(angle: f32, pair: u32) -> f32 { return angle; }`;
/** Angles by the file's frequency factors. */
export const FACTORED_ANGLE = `fn extrapolated_angle(angle: f32, pair: u32) -> f32 { return exact_quotient(angle, freq_factors[pair]); }`;

export const INTERPOLATED_THETA = `fn theta_of(extrapolated: f32, interpolated: f32, pair: u32) -> f32 { return interpolated; }`;

/**
 * YaRN: `rampMix[i]` of the extrapolated angle and the rest of the interpolated one. 1 - mix has more digits than an f32, so it
 * comes as two.
 */
export function yarnThetaText(rampMix: Float32Array): string {
  const rest = Array.from(rampMix, (mix) => 1 - mix);
  const high = rest.map(Math.fround);
  const low = rest.map((value, i) => value - (high[i] as number));
  const table = (values: readonly number[]) =>
    `array<f32, ${values.length}>(${values.map(floatText).join(', ')})`;
  return /* wgsl */ `
const RAMP_MIX = ${table([...rampMix])};
const REST_HIGH = ${table(high)};
const REST_LOW = ${table(low)};
fn theta_of(extrapolated: f32, interpolated: f32, pair: u32) -> f32 {
  var ramp_mix = RAMP_MIX;
  var highs = REST_HIGH;
  var lows = REST_LOW;
  if (ramp_mix[pair] == 0.0) { return interpolated; }
  let rest = exact_product(interpolated, highs[pair]);
  let mixed = opaque_value(rest.x + (rest.y + interpolated * lows[pair]));
  return mixed + opaque_value(extrapolated * ramp_mix[pair]);
}
`;
}

/** `rotated(at, in_head)`: the value of element `at`, rotated with its partner; requires `x_of`. */
export const ROTATE = /* wgsl */ `
fn rotated_value(row: u32, at: u32, in_head: u32) -> f32 {
  if (in_head >= ROTARY_DIM) { return x[at]; }
  let half = ROTARY_DIM / 2u;
  let second = select(in_head >= half, (in_head & 1u) == 1u, INTERLEAVED);
  let pair = select(select(in_head, in_head - half, second), in_head >> 1u, INTERLEAVED);
  let apart = select(half, 1u, INTERLEAVED);
  let cosine = table[row * ROTARY_DIM + 2u * pair];
  let sine = table[row * ROTARY_DIM + 2u * pair + 1u];
  if (second) { return x[at - apart] * sine + x[at] * cosine; }
  return x[at] * cosine - x[at + apart] * sine;
}
`;

/** Rotates the heads of each row. */
export const ROPE = /* wgsl */ `fn value_of(at: u32) -> f32 { return rotated_value(at / WIDTH, at, at % WIDTH % HEAD); }`;

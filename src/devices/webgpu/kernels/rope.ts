import { floatText } from './library/float-text.ts';

/**
 * What `RopeAngles` computes, with the same roundings: (cos, sin) of a pair for the row's position. `free_angle` and
 * `turn_of` are texts of their own.
 */
export const ROPE_TABLE = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  opaque_zero = u32(counts[0]) >> 31u;
  let row = group.x;
  let pair = group.y * THREADS + thread;
  if (row >= u32(counts[COUNT]) || pair >= PAIRS) { return; }
  var angle = f32(positions[row >> 2u][row & 3u]);
  for (var i = 0u; i < pair; i++) { angle = opaque_value(angle * RATIO); }
  let free = free_angle(angle, pair);
  let turn = turn_of(free, opaque_value(SQUEEZE * free), pair);
  let turned = cosine_and_sine(turn) * MAGNITUDE;
  let at = (row * PAIRS + pair) * 2u;
  y[at] = turned.x;
  y[at + 1u] = turned.y;
}
`;

export const FREE_ANGLE = `fn free_angle(angle: f32, pair: u32) -> f32 { return angle; }`;
/** Angles by the file's factors. */
export const FACTORED_ANGLE = `fn free_angle(angle: f32, pair: u32) -> f32 { return exact_quotient(angle, factors[pair]); }`;

export const PLAIN_TURN = `fn turn_of(free: f32, squeezed: f32, pair: u32) -> f32 { return squeezed; }`;

/**
 * YaRN's mixture, `shares[i]` of the free angle and the rest of the squeezed one. 1 - share has more digits than a number, so it
 * comes as two.
 */
export function yarnTurnText(shares: Float32Array): string {
  const rest = Array.from(shares, (share) => 1 - share);
  const high = rest.map(Math.fround);
  const low = rest.map((value, i) => value - (high[i] as number));
  const table = (values: readonly number[]) =>
    `array<f32, ${values.length}>(${values.map(floatText).join(', ')})`;
  return /* wgsl */ `
const SHARES = ${table([...shares])};
const REST_HIGH = ${table(high)};
const REST_LOW = ${table(low)};
fn turn_of(free: f32, squeezed: f32, pair: u32) -> f32 {
  var shares = SHARES;
  var highs = REST_HIGH;
  var lows = REST_LOW;
  if (shares[pair] == 0.0) { return squeezed; }
  let rest = exact_product(squeezed, highs[pair]);
  let mixed = opaque_value(rest.x + (rest.y + squeezed * lows[pair]));
  return mixed + opaque_value(free * shares[pair]);
}
`;
}

/** `turned(at, in_head)`: the value of element `at`, turned with its partner; wants `x_of`. */
export const TURN = /* wgsl */ `
fn turned_value(row: u32, at: u32, in_head: u32) -> f32 {
  if (in_head >= TURNED) { return x[at]; }
  let half = TURNED / 2u;
  let second = select(in_head >= half, (in_head & 1u) == 1u, INTERLEAVED);
  let pair = select(select(in_head, in_head - half, second), in_head >> 1u, INTERLEAVED);
  let apart = select(half, 1u, INTERLEAVED);
  let cosine = table[row * TURNED + 2u * pair];
  let sine = table[row * TURNED + 2u * pair + 1u];
  if (second) { return x[at - apart] * sine + x[at] * cosine; }
  return x[at] * cosine - x[at + apart] * sine;
}
`;

/** Turns the heads of each row. */
export const ROPE = /* wgsl */ `fn value_of(at: u32) -> f32 { return turned_value(at / WIDTH, at, at % WIDTH % HEAD); }`;

#include "functions.h"

/// What `RopeAngles` computes, with the same roundings: (cos, sin) of pair `thread` for the row's position. `factors` may
/// be null.
KERNEL(rope_table, 64, const i32* count, const i32* positions, const f32* factors, f32* out, i32 pairs, f32 theta_scale, f32 freq_scale,
                      f32 sine_scale, f32 low, f32 high, f32 ext_factor) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x(), pair = block_y() * 64 + thread();
  if (row >= used || pair >= pairs) return;
  f32 angle = f32(positions[row]);
  for (i32 i = 0; i < pair; i++) angle = angle * theta_scale;
  f32 extrapolated = angle / (factors ? factors[pair] : 1.0f);
  f32 interpolated = freq_scale * extrapolated;
  // The ramp is computed as the contract does, in f64 rounded once.
  f64 span = f64(high) - f64(low), ramp = (f64(pair) - f64(low)) / (span < 0.001 ? 0.001 : span);
  f32 ramp_mix = f32((1 - min_of(1.0, max_of(0.0, ramp))) * f64(ext_factor));
  f32 theta = ramp_mix == 0 ? interpolated : f32(f64(interpolated) * (1 - f64(ramp_mix))) + extrapolated * ramp_mix;
  f32 cosine, sine;
  cosine_and_sine(theta, cosine, sine);
  i64 at = (i64(row) * pairs + pair) * 2;
  // Rotations back have negative sines.
  out[at] = cosine * (sine_scale < 0 ? -sine_scale : sine_scale);
  out[at + 1] = sine * sine_scale;
}

/// Rotates one value of a row: interleaved pairs are neighbours, NeoX pairs stand half the rotary dimensions apart.
KERNEL(rope_rows, 256, const i32* count, const f32* x, const f32* table, f32* out, i32 width, i32 head_size, i32 rotary_dim,
                      i32 interleaved) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * 256 + thread();
  if (at >= i64(used) * width) return;
  i64 row = at / width;
  i32 i = i32(at % width) % head_size, half = rotary_dim / 2;
  if (i >= rotary_dim) {
    out[at] = x[at];
    return;
  }
  bool second = interleaved ? i & 1 : i >= half;
  i32 pair = interleaved ? i >> 1 : second ? i - half : i, apart = interleaved ? 1 : half;
  f32 cosine = table[row * rotary_dim + 2 * pair], sine = table[row * rotary_dim + 2 * pair + 1];
  out[at] = second ? x[at - apart] * sine + x[at] * cosine : x[at] * cosine - x[at + apart] * sine;
}

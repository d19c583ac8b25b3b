/**
 * Activations in 8 bits: a group of 32 elements is 32 signed bytes and a scale of max / 127. A matrix is its rows' bytes, two
 * vectors a group, then a pair of words a group: the scale, and the sums of the group's halves in 16 bits each, by which a
 * weight's offset or min is applied once a group.
 */
export const QUANTIZED = /* wgsl */ `
struct Quantized { low: vec4<u32>, high: vec4<u32>, scale: vec2<u32> }
`;

/** Quantizes a group whose elements lie in a team of 32 threads and stores it, where `used`; called by all threads at once. */
export const QUANTIZE_TEAM = /* wgsl */ `
var<workgroup> level_cells: array<i32, THREADS>;

fn quantize_team(value: f32, thread: u32, group: u32, used: bool) {
  let d = team_max(abs(value), thread) / 127.0;
  let inverse = select(0.0, 1.0 / d, d > 0.0);
  level_cells[thread] = i32(round(value * inverse));
  workgroupBarrier();
  let lane = thread % 32u;
  let first = thread - lane;
  if (used && lane < 8u) {
    var word = 0u;
    for (var i = 0u; i < 4u; i++) { word |= (bitcast<u32>(level_cells[first + 4u * lane + i]) & 255u) << (8u * i); }
    y[8u * group + lane] = word;
  }
  if (used && lane == 0u) {
    var sums = vec2<i32>();
    for (var i = 0u; i < 16u; i++) { sums += vec2<i32>(level_cells[first + i], level_cells[first + 16u + i]); }
    y[Y_SCALES_AT + 2u * group] = bitcast<u32>(d);
    y[Y_SCALES_AT + 2u * group + 1u] = (bitcast<u32>(sums.x) & 0xffffu) | (bitcast<u32>(sums.y) << 16u);
  }
  workgroupBarrier();
}
`;

/**
 * Activations in 8 bits: a group of 32 elements is 32 signed bytes and a scale of max / 127. A matrix is its rows' bytes, two
 * vectors a group, then a pair of words a group: the scale, and the sums of the group's halves in 16 bits each, by which a
 * weight's offset or min is applied once a group.
 */
export const QUANTIZE_GROUP = /* wgsl */ `
struct Quantized { low: vec4<u32>, high: vec4<u32>, scale: vec2<u32> }

fn four_bytes(levels: vec4<i32>) -> u32 {
  let bytes = bitcast<vec4<u32>>(levels) & vec4<u32>(255u);
  return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

fn quantize_group(values: ptr<function, array<vec4<f32>, 8>>) -> Quantized {
  var largest = vec4<f32>();
  for (var i = 0u; i < 8u; i++) { largest = max(largest, abs((*values)[i])); }
  let d = max(max(largest.x, largest.y), max(largest.z, largest.w)) / 127.0;
  let inverse = select(0.0, 1.0 / d, d > 0.0);
  var words: array<u32, 8>;
  var low = vec4<i32>();
  var high = vec4<i32>();
  for (var i = 0u; i < 8u; i++) {
    let levels = vec4<i32>(round((*values)[i] * inverse));
    words[i] = four_bytes(levels);
    if (i < 4u) { low += levels; } else { high += levels; }
  }
  let sums = vec2<i32>(low.x + low.y + low.z + low.w, high.x + high.y + high.z + high.w);
  return Quantized(
    vec4<u32>(words[0], words[1], words[2], words[3]), vec4<u32>(words[4], words[5], words[6], words[7]),
    vec2<u32>(bitcast<u32>(d), (bitcast<u32>(sums.x) & 0xffffu) | (bitcast<u32>(sums.y) << 16u)));
}
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

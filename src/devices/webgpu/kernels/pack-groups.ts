/**
 * Brings blocks of a file into planes: a thread takes a unit of `UNIT_GROUPS` groups whose scales share no word with others'.
 * `job` holds the byte of the first block, the first group, and how many there are.
 */
export const PACK_GROUPS = /* wgsl */ `
fn byte_at(i: u32) -> u32 { return (source[i >> 2u] >> (8u * (i & 3u))) & 255u; }
fn half_at(i: u32) -> u32 { return byte_at(i) | (byte_at(i + 1u) << 8u); }
fn word_at(i: u32) -> u32 { return half_at(i) | (half_at(i + 2u) << 16u); }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let first = (group_of(group, groups) * THREADS + thread) * UNIT_GROUPS;
  if (first >= job.z) { return; }
  let count = min(UNIT_GROUPS, job.z - first);
  for (var i = 0u; i < count; i++) {
    let block = job.x + (first + i) / BLOCK_GROUPS * BLOCK_BYTES;
    var quads: array<u32, 8>;
    for (var q = 0u; q < 8u; q++) {
      var quad = 0u;
      for (var k = 0u; k < 4u; k++) { quad |= quant(block, i % BLOCK_GROUPS, 4u * q + k) << (8u * k); }
      quads[q] = quad;
    }
    store_quants(job.y + first + i, &quads);
  }
  store_scales(job.y + first, job.x + first / BLOCK_GROUPS * BLOCK_BYTES, count);
}
`;

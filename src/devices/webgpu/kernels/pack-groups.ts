/**
 * Brings blocks of a file into planes: a thread takes a unit of `UNIT_GROUPS` groups that share no word with others'.
 * `job` holds the byte of the first block, the first group, how many there are, and the words at which the planes begin: these
 * differ from weight to weight, and a format is one kernel for all of them.
 */
export const PACK_GROUPS = /* wgsl */ `
struct Job { first_byte: u32, first_group: u32, count: u32, high_at: u32, signs_at: u32, scales_at: u32, super_at: u32 }

fn byte_at(i: u32) -> u32 { return (source[i >> 2u] >> (8u * (i & 3u))) & 255u; }
fn half_at(i: u32) -> u32 { return byte_at(i) | (byte_at(i + 1u) << 8u); }
fn word_at(i: u32) -> u32 { return half_at(i) | (half_at(i + 2u) << 16u); }

// A digit of five that a byte holds as a base-3 fraction of 256.
fn ternary_digit(byte: u32, number: u32) -> u32 {
  var rest = byte;
  for (var i = 0u; i < min(number, 4u); i++) { rest = (rest * 3u) & 255u; }
  return (rest * 3u) >> 8u;
}

// Eight sign bits from seven: the number of minus signs is even.
fn even_signs(seven: u32) -> u32 { return seven | ((countOneBits(seven) & 1u) << 7u); }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let first = (group_of(group, groups) * THREADS + thread) * UNIT_GROUPS;
  if (first >= job.count) { return; }
  let count = min(UNIT_GROUPS, job.count - first);
  let block = job.first_byte + first / BLOCK_GROUPS * BLOCK_BYTES;
  pack_quants(job.first_group + first, block, count);
  pack_scales(job.first_group + first, block, count);
}
`;

/** Element `n` of a joined row, rotated. */
export const HEAD_VALUE = /* wgsl */ `
fn head_value(row: u32, n: u32) -> f32 {
  let value = joined[row * WIDTH + n];
  if (!is_rotated(n)) { return value; }
  return rotated(row, n, value, joined[row * WIDTH + partner_of(n)]);
}
`;

/** A word of a joined row of queries, keys and values a thread: rotates queries and keys, appends keys and values to the cache. */
export const HEADS_APPEND = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let at = group_of(group, groups) * THREADS + thread;
  let row = at / (WIDTH / UNIT);
  let n = at % (WIDTH / UNIT) * UNIT;
  if (row >= u32(counts[COUNT])) { return; }
  let first = head_value(row, n);
  var second = first;
  if (UNIT == 2u) { second = head_value(row, n + 1u); }
  store_heads(row, n, first, second);
}
`;

/** The same for a cache in blocks: an element a thread. */
export const HEADS_APPEND_BLOCKS = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  opaque_zero = u32(counts[0]) >> 31u;
  let at = group_of(group, groups) * THREADS + thread;
  let row = at / WIDTH;
  let n = at % WIDTH;
  let used = row < u32(counts[COUNT]);
  if (used) { block_values[thread] = head_value(row, n); }
  workgroupBarrier();
  if (!used) { return; }
  if (n < Q_WIDTH) { store_query(row, n, block_values[thread], 0.0); }
  else if (n < Q_WIDTH + K_WIDTH) { store_key(row, n - Q_WIDTH, thread); }
  else { store_value(row, n - Q_WIDTH - K_WIDTH, thread); }
}
`;

/** A word of a joined row of queries, keys and values a thread: turns queries and keys, appends keys and values to the cache. */
export const HEADS_APPEND = /* wgsl */ `
fn head_value(row: u32, n: u32) -> f32 {
  let value = joined[row * WIDTH + n];
  if (!turns(n)) { return value; }
  return turned(row, n, value, joined[row * WIDTH + partner_of(n)]);
}

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

/** The parameters in which rows of queries, keys and values lie; several may be the same one. */
export interface HeadRows {
  readonly q: string;
  readonly k: string;
  readonly v: string;
}

/** Element `i` of a head: heads count from those of queries over those of keys to those of values. */
const headElementText = ({ q, k, v }: HeadRows): string => /* wgsl */ `
fn head_element(row: u32, head: u32, i: u32) -> f32 {
  if (head < HEADS) { return ${q}[row * Q_STRIDE + Q_START + head * HEAD + i]; }
  if (head < NORMED_HEADS) { return ${k}[row * K_STRIDE + K_START + (head - HEADS) * HEAD + i]; }
  return ${v}[row * V_STRIDE + V_START + (head - NORMED_HEADS) * VALUE + i];
}
`;

const NORMED_VALUES = /* wgsl */ `
const NORMED_HEADS = HEADS + KV_HEADS;

// What a head's values are multiplied with, besides the norm's weight; called by all threads at once.
fn head_scale(row: u32, head: u32, thread: u32) -> f32 {
  var square = 0.0;
  if (head < NORMED_HEADS) {
    for (var i = thread % 32u; i < HEAD; i += 32u) {
      let value = head_element(row, head, i);
      square = fma(value, value, square);
    }
  }
  return 1.0 / sqrt(team_sum(square, thread) / f32(HEAD) + select(K_EPSILON, Q_EPSILON, head < HEADS));
}

fn normed_element(row: u32, head: u32, i: u32, scale: f32) -> f32 {
  return head_element(row, head, i) * scale * norm_weight[select(HEAD, 0u, head < HEADS) + i];
}

fn head_value(row: u32, head: u32, i: u32, scale: f32) -> f32 {
  if (head >= NORMED_HEADS) { return head_element(row, head, i); }
  let value = normed_element(row, head, i, scale);
  if (i >= ROTARY_DIM) { return value; }
  return rotated(row, i, value, normed_element(row, head, partner_of(i), scale));
}
`;

const MAIN = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let head = group.y * (THREADS / 32u) + thread / 32u;
  let scale = head_scale(row, min(head, NORMED_HEADS), thread);
  if (head >= NORMED_HEADS + KV_HEADS) { return; }
  let size = select(VALUE, HEAD, head < NORMED_HEADS);
  for (var i = thread % 32u * UNIT; i < size; i += 32u * UNIT) {
    let first = head_value(row, head, i, scale);
    var second = first;
    if (UNIT == 2u) { second = head_value(row, head, i + 1u, scale); }
    if (head < HEADS) { store_query(row, head * HEAD + i, first, second); }
    else if (head < NORMED_HEADS) { store_key(row, (head - HEADS) * HEAD + i, first, second); }
    else { store_value(row, (head - NORMED_HEADS) * VALUE + i, first, second); }
  }
}
`;

/** The same for a cache in blocks, of which a head has whole ones. */
const MAIN_BLOCKS = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  opaque_zero = u32(counts[0]) >> 31u;
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let head = group.y * (THREADS / 32u) + thread / 32u;
  let scale = head_scale(row, min(head, NORMED_HEADS), thread);
  let size = select(select(VALUE, HEAD, head < NORMED_HEADS), 0u, head >= NORMED_HEADS + KV_HEADS);
  for (var start = 0u; start < max(HEAD, VALUE); start += 32u) {
    let i = start + thread % 32u;
    if (i < size) { block_values[thread] = head_value(row, head, i, scale); }
    workgroupBarrier();
    if (i < size) {
      if (head < HEADS) { store_query(row, head * HEAD + i, block_values[thread], 0.0); }
      else if (head < NORMED_HEADS) { store_key(row, (head - HEADS) * HEAD + i, thread); }
      else { store_value(row, (head - NORMED_HEADS) * VALUE + i, thread); }
    }
    workgroupBarrier();
  }
}
`;

/**
 * Queries, keys and values of a row, a head a team of 32 threads: heads of queries and keys are normalized by the root of their
 * mean square and rotated, keys and values appended to the cache. Requires `team_sum`, `rotated`, and what stores heads.
 */
export function headsNormAppendTexts(rows: HeadRows, cache: 'words' | 'blocks'): readonly string[] {
  return [headElementText(rows), NORMED_VALUES, cache === 'blocks' ? MAIN_BLOCKS : MAIN];
}

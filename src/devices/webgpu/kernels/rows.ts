/** Words of the picked rows, as they are. */
export const GATHER_ROWS = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let at = group_of(group, groups) * THREADS + thread;
  if (at >= u32(counts[COUNT]) * WIDTH) { return; }
  let row = at / WIDTH;
  y[at] = x[u32(index[row >> 2u][row & 3u]) * WIDTH + at % WIDTH];
}
`;

/** The row's id, given or sampled before, and `history[slot, position] = id`. */
export const TOKEN_APPEND = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) thread: vec3<u32>) {
  let row = thread.x;
  if (row >= u32(counts[0])) { return; }
  var id = ids[row >> 2u][row & 3u];
  if (id < 0) {
    let sampled = u32(~id);
    id = select(-1, tokens[min(sampled, TOKENS - 1u)], sampled < TOKENS);
  }
  y[row] = id;
  history[u32(slots[row >> 2u][row & 3u]) * POSITIONS + u32(positions[row >> 2u][row & 3u])] = id;
}
`;

/** Four elements of an embedded row a thread; ids of the table's other chunks are left alone, those outside it give zeros. */
export const EMBED = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let at = group_of(group, groups) * THREADS + thread;
  let row = at / QUADS;
  let quad = at % QUADS;
  if (row >= u32(counts[COUNT])) { return; }
  let id = ids[row >> 2u][row & 3u];
  let outside = id < 0 || id >= i32(TOTAL_ROWS);
  if (outside && FIRST_ROW > 0u) { return; }
  if (!outside && (u32(id) < FIRST_ROW || u32(id) >= FIRST_ROW + CHUNK_ROWS)) { return; }
  var values = vec4<f32>();
  if (!outside) { values = weight4(u32(id) - FIRST_ROW, quad); }
  for (var i = 0u; i < 4u; i++) {
    if (4u * quad + i < WIDTH) { y[row * WIDTH + 4u * quad + i] = values[i]; }
  }
}
`;

/** The parameters that hold rows of keys and of values: one, where both are the same rows; undefined where values are not stored. */
export interface AppendedRows {
  readonly keys: string;
  readonly values: string | undefined;
}

/** An element of a row's keys or values a thread, 32 of them a block of the cache. */
export const kvAppendBlocksText = ({ keys, values }: AppendedRows): string => /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  opaque_zero = u32(counts[0]) >> 31u;
  let at = group_of(group, groups) * THREADS + thread;
  let row = at / (KEY_WIDTH + VALUE_WIDTH);
  let n = at % (KEY_WIDTH + VALUE_WIDTH);
  let used = row < u32(counts[0]);
  if (used && n < KEY_WIDTH) { block_values[thread] = ${keys}[row * KEY_WIDTH + n]; }
  ${values ? `else if (used) { block_values[thread] = ${values}[row * VALUE_WIDTH + n - KEY_WIDTH]; }` : ''}
  workgroupBarrier();
  if (!used || positions[row >> 2u][row & 3u] < 0) { return; }
  let cell = cell_of(u32(slots[row >> 2u][row & 3u]), u32(positions[row >> 2u][row & 3u]));
  if (n < KEY_WIDTH) { store_keys((cell * KEY_WIDTH + n) / 32u, thread); }
  ${values ? 'else { store_values((cell * VALUE_WIDTH + n - KEY_WIDTH) / 32u, thread); }' : ''}
}
`;

/** A word of a row's keys or values a thread. */
export const kvAppendText = ({ keys, values }: AppendedRows): string => /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let at = group_of(group, groups) * THREADS + thread;
  let row = at / (KEY_WORDS + VALUE_WORDS);
  let word = at % (KEY_WORDS + VALUE_WORDS);
  if (row >= u32(counts[0]) || positions[row >> 2u][row & 3u] < 0) { return; }
  let cell = cell_of(u32(slots[row >> 2u][row & 3u]), u32(positions[row >> 2u][row & 3u]));
  if (word < KEY_WORDS) {
    let origin = row * KEY_WORDS * UNIT + word * UNIT;
    keys[cell * KEY_WORDS + word] = cache_word(${keys}[origin], ${keys}[origin + UNIT - 1u]);
  }${values ? elseValues(values) : ''}
}
`;

const elseValues = (values: string): string => /* wgsl */ ` else {
    let origin = row * VALUE_WORDS * UNIT + (word - KEY_WORDS) * UNIT;
    values[cell * VALUE_WORDS + word - KEY_WORDS] = cache_word(${values}[origin], ${values}[origin + UNIT - 1u]);
  }`;

/** `x[r, FIRST + i / PART * EVERY + i % PART]`, of rows `SOURCE_WIDTH` wide. */
export const SLICE = /* wgsl */ `
fn value_of(at: u32) -> f32 {
  let i = at % WIDTH;
  return x[at / WIDTH * SOURCE_WIDTH + FIRST + i / PART * EVERY + i % PART];
}
`;

/** Parts of `A_PART` values of rows `A_WIDTH` wide, each with one of `B_PART` behind it of rows of `B_WIDTH`, which may have one for all. */
export function concatText(same: boolean): string {
  return /* wgsl */ `
fn value_of(at: u32) -> f32 {
  let row = at / WIDTH;
  let part = at % WIDTH / (A_PART + B_PART);
  let column = at % WIDTH % (A_PART + B_PART);
  if (column < A_PART) { return a[row * A_WIDTH + part * A_PART + column]; }
  return ${same ? 'a' : 'b'}[row * B_WIDTH + (part * B_PART + column - A_PART) % B_WIDTH];
}
`;
}

/** `a + (b - a) * t`; `t` is the rows' own, or the weight's row that begins at `T_OFFSET`. */
export function lerpText(t: 'tensor' | 'row', same: boolean): string {
  const weight = t === 'row' ? 't[T_OFFSET + at % WIDTH]' : 't[at]';
  return `fn value_of(at: u32) -> f32 { return a[at] + (${same ? 'a' : 'b'}[at] - a[at]) * ${weight}; }`;
}

/** A thread takes a column of all rows: what the sequence's row before had, and notes what this one has. */
export const TOKEN_SHIFT = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) thread: vec3<u32>) {
  let i = thread.x;
  if (i >= WIDTH) { return; }
  for (var row = 0u; row < u32(counts[0]); row++) {
    let kept = u32(slots[row >> 2u][row & 3u]) * WIDTH + i;
    y[row * WIDTH + i] = select(last[kept], 0.0, positions[row >> 2u][row & 3u] == 0);
    last[kept] = x[row * WIDTH + i];
  }
}
`;

/** A workgroup takes a head of a row: `v[i] * sum_j r[j] k[j] norm_weight[j]`. */
export const WKV_BONUS = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  let head = group.y * SIZE;
  let start = group.x * WIDTH + head;
  var sum = 0.0;
  for (var i = thread; i < SIZE; i += THREADS) { sum = fma(r[start + i] * weight[head + i], k[start + i], sum); }
  let all = team_sum(sum, thread);
  for (var i = thread; i < SIZE; i += THREADS) { y[start + i] = v[start + i] * all; }
}
`;

/** A workgroup normalizes a group of a row by its mean and variance. */
export const GROUP_NORM = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  let first = group.y * SIZE;
  let start = group.x * WIDTH + first;
  var sum = 0.0;
  for (var i = thread; i < SIZE; i += THREADS) { sum += x[start + i]; }
  let mean = team_sum(sum, thread) / f32(SIZE);
  var square = 0.0;
  for (var i = thread; i < SIZE; i += THREADS) {
    let centred = x[start + i] - mean;
    square = fma(centred, centred, square);
  }
  let scale = 1.0 / sqrt(team_sum(square, thread) / f32(SIZE) + EPSILON);
  for (var i = thread; i < SIZE; i += THREADS) {
    y[start + i] = (x[start + i] - mean) * scale * norm_weight[first + i] + bias[first + i];
  }
}
`;

/** The Walsh-Hadamard transform of groups of `SIZE` values; a thread has one value of a row. */
export const HADAMARD = /* wgsl */ `
var<workgroup> values: array<f32, 128>;
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  let column = group.y * 128u + thread;
  let at = group.x * WIDTH + column;
  var own = 0.0;
  if (column < WIDTH) { own = x[at] * SCALE; }
  for (var apart = 1u; apart < SIZE; apart <<= 1u) {
    values[thread] = own;
    workgroupBarrier();
    let other = values[thread ^ apart];
    workgroupBarrier();
    own = select(own + other, other - own, (thread & apart) != 0u);
  }
  if (column < WIDTH) { y[at] = own; }
}
`;

/** A workgroup scales a group of a row to the length 1. */
export const L2_NORM = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  let start = group.x * WIDTH + group.y * SIZE;
  var square = 0.0;
  for (var i = thread; i < SIZE; i += THREADS) { square = fma(x[start + i], x[start + i], square); }
  let sum = team_sum(square, thread);
  let length = select(max(sqrt(sum), EPSILON), sqrt(sum / f32(SIZE) + EPSILON), BY_MEAN);
  for (var i = thread; i < SIZE; i += THREADS) { y[start + i] = x[start + i] / length; }
}
`;

/** Where a row's key and the cell that it completes are written, and which cells it sees; a thread takes a row. */
export const CELL_PLACES = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.x;
  if (row >= u32(counts[COUNT])) { return; }
  let position = u32(positions[row >> 2u][row & 3u]);
  let block = position / BLOCK_SIZE;
  let within = position % BLOCK_SIZE;
  let completes = (position + 1u) % RATIO == 0u;
  own[row] = i32(block * (BLOCK_SIZE + CELLS) + within);
  cell[row] = select(-1, i32(block * (BLOCK_SIZE + CELLS) + BLOCK_SIZE + within / RATIO), completes);
  index[row] = select(-1, i32(block * CELLS + within / RATIO), completes);
  last[row] = i32((position + 1u) / RATIO) - 1;
  start[row] = i32(position - position % RATIO);
}
`;

/** The mean of positions' values by the softmax of their scores, an element of a cell a thread. Requires `FUNCTIONS`. */
export const COMPRESS_CELLS = /* wgsl */ `
fn score_of(at: u32, place: u32, element: u32) -> f32 { return values[at] + bias[place * KEPT + element]; }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  let i = group.y * THREADS + thread;
  if (row >= u32(counts[COUNT]) || i >= WIDTH) { return; }
  let position = u32(positions[row >> 2u][row & 3u]);
  if ((position + 1u) % RATIO != 0u) {
    y[row * WIDTH + i] = 0.0;
    return;
  }
  let slot = u32(slots[row >> 2u][row & 3u]);
  let first = position + 1u - RATIO * select(1u, 2u, OVERLAPS && position >= RATIO);
  var largest = -1.0e38;
  for (var p = first; p <= position; p++) {
    let element = i + select(0u, WIDTH, OVERLAPS && p + RATIO > position);
    largest = max(largest, score_of(cell_of(slot, p) * KEPT + element, p % RATIO, element));
  }
  var sum = 0.0;
  var mean = 0.0;
  for (var p = first; p <= position; p++) {
    let element = i + select(0u, WIDTH, OVERLAPS && p + RATIO > position);
    let at = cell_of(slot, p) * KEPT + element;
    let share = exponential(score_of(at, p % RATIO, element) - largest);
    sum += share;
    mean = fma(share, keys[at], mean);
  }
  y[row * WIDTH + i] = mean / sum;
}
`;

/** A row's table: the positions of its window, then complete cells. Requires `found_cell`. */
export const JOIN_CELLS = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let seen = u32(positions[row >> 2u][row & 3u]) + 1u;
  let slot = u32(slots[row >> 2u][row & 3u]);
  let near = min(WINDOW, seen);
  let far = min(MOST, seen / RATIO);
  if (thread == 0u) {
    places[row] = i32(row);
    limits[row] = i32(near + far) - 1;
  }
  for (var i = thread; i < WINDOW + MOST; i += THREADS) {
    var place = 0u;
    if (i < near) {
      let position = seen - near + i;
      place = block_of(slot, position) * (BLOCK_SIZE + CELLS) + position % BLOCK_SIZE;
    } else if (i < near + far) {
      let found = found_cell(row, slot, i - near);
      place = found / CELLS * (BLOCK_SIZE + CELLS) + BLOCK_SIZE + found % CELLS;
    }
    cells[row * (WINDOW + MOST) + i] = i32(place);
  }
}

fn block_of(slot: u32, position: u32) -> u32 { return u32(blocks[slot * BLOCKS_PER_SLOT + position / BLOCK_SIZE]); }
`;

/** Cells that were chosen. */
export const CHOSEN_CELLS = `fn found_cell(row: u32, slot: u32, i: u32) -> u32 { return u32(chosen[row * MOST + i]); }`;

/** The first cells. */
export const FIRST_CELLS = /* wgsl */ `
fn found_cell(row: u32, slot: u32, i: u32) -> u32 {
  let position = (i + 1u) * RATIO - 1u;
  return block_of(slot, position) * CELLS + position % BLOCK_SIZE / RATIO;
}
`;

/** How layers read and write several residual streams; a thread takes a row. Requires `FUNCTIONS`. */
export const STREAM_SHARES = /* wgsl */ `
const ROW = select(STREAMS * (STREAMS + 2u), STREAMS, READS);

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.x;
  if (row >= u32(counts[COUNT])) { return; }
  let own = row * ROW;
  for (var i = 0u; i < STREAMS; i++) { y[own + i] = sigmoid(fma(x[own + i], scale[0], base[i])) + EPSILON; }
  if (READS) { return; }
  var matrix: array<f32, STREAMS * STREAMS>;
  for (var row_of = 0u; row_of < STREAMS; row_of++) {
    var largest = -1.0e38;
    for (var i = row_of * STREAMS; i < (row_of + 1u) * STREAMS; i++) {
      let at = 2u * STREAMS + i;
      matrix[i] = fma(x[own + at], scale[SCALES - 1u], base[at]);
      largest = max(largest, matrix[i]);
    }
    var sum = 0.0;
    for (var i = row_of * STREAMS; i < (row_of + 1u) * STREAMS; i++) {
      matrix[i] = exponential(matrix[i] - largest);
      sum += matrix[i];
    }
    for (var i = row_of * STREAMS; i < (row_of + 1u) * STREAMS; i++) { matrix[i] = matrix[i] / sum + EPSILON; }
  }
  for (var iteration = 0u; iteration < ITERATIONS; iteration++) {
    for (var line = 0u; iteration > 0u && line < STREAMS; line++) {
      var sum = EPSILON;
      for (var i = 0u; i < STREAMS; i++) { sum += matrix[line * STREAMS + i]; }
      for (var i = 0u; i < STREAMS; i++) { matrix[line * STREAMS + i] /= sum; }
    }
    for (var line = 0u; line < STREAMS; line++) {
      var sum = EPSILON;
      for (var i = 0u; i < STREAMS; i++) { sum += matrix[i * STREAMS + line]; }
      for (var i = 0u; i < STREAMS; i++) { matrix[i * STREAMS + line] /= sum; }
    }
  }
  for (var written = 0u; written < STREAMS; written++) {
    let first = own + STREAMS + written * (STREAMS + 1u);
    for (var i = 0u; i < STREAMS; i++) { y[first + i] = matrix[i * STREAMS + written]; }
    let at = STREAMS + written;
    y[first + STREAMS] = 2.0 * sigmoid(fma(x[own + at], scale[SCALES / 2u], base[at]));
  }
}
`;

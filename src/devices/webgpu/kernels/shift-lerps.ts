import { SLOT_ROWS } from './library/slot-rows.ts';

/** A lerp of a row towards the one before it: where its result begins in `y`, and its weights in which parameter, in elements. */
export interface PlacedLerp {
  readonly resultAt: number;
  readonly weights: string;
  readonly weightsAt: number;
}

/** Rows as they are. */
const PLAIN_ROWS = /* wgsl */ `
fn prepare_rows(rows: u32, thread: u32) {}
fn value_at(row: u32, i: u32) -> f32 { return x[row * WIDTH + i]; }
`;

/** Rows normalized by mean and variance. */
const NORMED_ROWS = /* wgsl */ `
var<workgroup> means: array<f32, CAPACITY>;
var<workgroup> scales: array<f32, CAPACITY>;
fn prepare_rows(rows: u32, thread: u32) {
  for (var row = 0u; row < rows; row++) {
    var sum = 0.0;
    for (var i = thread; i < WIDTH; i += THREADS) { sum += x[row * WIDTH + i]; }
    let mean = all_sum(sum, thread) / f32(WIDTH);
    var square = 0.0;
    for (var i = thread; i < WIDTH; i += THREADS) {
      let centred = x[row * WIDTH + i] - mean;
      square = fma(centred, centred, square);
    }
    let variance = all_sum(square, thread) / f32(WIDTH);
    if (thread == 0u) {
      means[row] = mean;
      scales[row] = 1.0 / sqrt(variance + EPSILON);
    }
  }
  workgroupBarrier();
}
fn value_at(row: u32, i: u32) -> f32 { return (x[row * WIDTH + i] - means[row]) * scales[row] * norm_weight[i] + norm_bias[i]; }
`;

/** Records for some rows at a time which row of their sequence comes before, and whether one comes after it. */
const LINKS = /* wgsl */ `
const COLUMNS = 32u;
const NOTED = THREADS;
const NO_ROW = 0xffffffffu;
var<workgroup> rows_before: array<u32, NOTED>;
var<workgroup> is_last: array<u32, NOTED>;

fn note_links(first: u32, rows: u32, thread: u32) {
  workgroupBarrier();
  let row = first + thread;
  if (row < rows) {
    let own = rows_of_slot(slot_of(row));
    var before = row;
    while (before > own.x && (before == row || slot_of(before) != slot_of(row))) { before--; }
    rows_before[thread] = select(NO_ROW, before, before < row);
    is_last[thread] = u32(row + 1u == own.y);
  }
  workgroupBarrier();
}
`;

/**
 * All lerps of rows towards those before them in their sequences, whose last rows are kept in `last`: a workgroup takes 32 columns of
 * all rows. Requires `all_sum` where rows are normalized.
 */
export function shiftLerpsTexts(
  lerps: readonly PlacedLerp[],
  of: { readonly normed: boolean },
): readonly string[] {
  const stores = lerps.map(
    ({ resultAt, weights, weightsAt }) =>
      `y[${resultAt}u + at] = value + (before - value) * ${weights}[${weightsAt}u + i];`,
  );
  return [of.normed ? NORMED_ROWS : PLAIN_ROWS, SLOT_ROWS, LINKS, mainText(stores)];
}

const mainText = (stores: readonly string[]): string => /* wgsl */ `
fn before_of(row: u32, noted: u32, i: u32) -> f32 {
  if (begins(row)) { return 0.0; }
  if (noted == NO_ROW) { return last[slot_of(row) * WIDTH + i]; }
  return value_at(noted, i);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let rows = u32(counts[0]);
  let i = group.x * COLUMNS + thread % COLUMNS;
  prepare_rows(rows, thread);
  for (var first = 0u; first < rows; first += NOTED) {
    note_links(first, rows, thread);
    for (var n = thread / COLUMNS; n < min(NOTED, rows - first); n += THREADS / COLUMNS) {
      if (i >= WIDTH) { continue; }
      let row = first + n;
      let value = value_at(row, i);
      let before = before_of(row, rows_before[n], i);
      let at = row * WIDTH + i;
      ${stores.join('\n      ')}
    }
  }
  // What is kept is not read any more.
  storageBarrier();
  for (var first = 0u; first < rows; first += NOTED) {
    note_links(first, rows, thread);
    for (var n = thread / COLUMNS; n < min(NOTED, rows - first); n += THREADS / COLUMNS) {
      if (i >= WIDTH || is_last[n] == 0u) { continue; }
      last[slot_of(first + n) * WIDTH + i] = value_at(first + n, i);
    }
  }
}
`;

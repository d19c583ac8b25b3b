import type { Loop } from './library/loop.ts';
import { ROWS_OF_WORKGROUP } from './library/slot-rows.ts';

/**
 * A depthwise causal convolution: a thread takes a column of a slot, the rows before in registers. Wants `activation`.
 */
export function causalConvText(of: { readonly taps: number; readonly bias: boolean }, loop: Loop): string {
  const before = of.taps - 1;
  const each = (body: (t: string) => string) => loop('t', before, body);
  return /* wgsl */ `
${ROWS_OF_WORKGROUP}
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) thread: vec3<u32>) {
  let column = thread.x;
  let own_rows = rows_of_workgroup(thread.y);
  let slot = own_rows.slot;
  if (column >= WIDTH) { return; }
  var window: array<f32, ${before}>;
  var loaded = false;
  for (var row = own_rows.first; row < own_rows.end; row++) {
    if (slot_of(row) != slot) { continue; }
    if (begins(row)) {
      window = array<f32, ${before}>();
    } else if (!loaded) {
      ${each((t) => ` window[${t}] = last[(slot * ${before}u + ${t}) * WIDTH + column]; `)}
    }
    loaded = true;
    let own = x[row * WIDTH + column];
    var sum = ${of.bias ? 'bias[column]' : '0.0'};
    ${each((t) => ` sum = fma(taps[column * ${of.taps}u + ${t}], window[${t}], sum); `)}
    y[row * WIDTH + column] = activation(fma(taps[column * ${of.taps}u + ${before}u], own, sum));
    ${loop('t', before - 1, (t) => ` window[${t}] = window[${t} + 1u]; `)}
    window[${before - 1}u] = own;
  }
  if (!loaded) { return; }
  ${each((t) => ` last[(slot * ${before}u + ${t}) * WIDTH + column] = window[${t}]; `)}
}
`;
}

/** How the lines of a state are shared out: threads of a line, and values that each of them keeps. */
export interface LineShape {
  readonly split: number;
  readonly columns: number;
}

/** Where a thread's value stands in its line: neighbours hold neighbouring fours. */
function columnOf({ split }: LineShape): (c: string) => string {
  return (c) => (split === 1 ? c : `(${c} / 4u * ${4 * split}u + 4u * part + ${c} % 4u)`);
}

/** Brings a row's query, key and decays into workgroup memory. */
const DELTA_ROW = /* wgsl */ `
var<workgroup> all_q: array<f32, KEY_SIZE>;
var<workgroup> all_k: array<f32, KEY_SIZE>;
var<workgroup> all_decay: array<f32, DECAYS>;

// The thread's part of the squares of query and key.
fn load_row(keys: u32, head: u32, thread: u32) -> vec2<f32> {
  var squares = vec2<f32>();
  for (var j = thread; j < KEY_SIZE; j += THREADS) {
    all_q[j] = q[keys + j];
    all_k[j] = k[keys + j];
    let both = vec2<f32>(all_q[j], all_k[j]);
    squares = fma(both, both, squares);
  }
  for (var j = thread; j < DECAYS; j += THREADS) { all_decay[j] = exponential(decay[head * DECAYS + j]); }
  return squares;
}
`;

/** A row's change of a line, and what is read of it then. */
function deltaStep(
  column: (c: string) => string,
  decays: 'head' | 'channel',
  each: (body: (c: string) => string) => string,
): string {
  const decay = (c: string) => (decays === 'head' ? 'all_decay[0]' : `all_decay[${column(c)}]`);
  return /* wgsl */ `
    var found = 0.0;
    ${each(
      (c) => /* wgsl */ `
      line[${c}] *= ${decay(c)};
      found = fma(line[${c}], all_k[${column(c)}], found);
    `,
    )}
    found = part_sum(found, thread) * key_factor;
    let at = (row * HEADS + head) * VALUE_SIZE + min(value, VALUE_SIZE - 1u);
    let delta = beta[row * HEADS + head] * (v[at] - found) * key_factor;
    var sum = 0.0;
    ${each(
      (c) => /* wgsl */ `
      line[${c}] = fma(delta, all_k[${column(c)}], line[${c}]);
      sum = fma(line[${c}], all_q[${column(c)}], sum);
    `,
    )}
`;
}

/**
 * The gated delta rule: a workgroup takes `LINES` rows of the matrix of a head of a slot, `SPLIT` threads a row, from the slot's
 * first row to its last. Wants `part_sum` over the threads of a row, `all_sum` over all, and `exponential`.
 */
export function gatedDeltaText(
  of: LineShape & { readonly decays: 'head' | 'channel'; readonly keyOrder: 'tiled' | 'interleaved' },
  loop: Loop,
): string {
  const column = columnOf(of);
  const each = (body: (c: string) => string) => loop('c', of.columns, body);
  const step = deltaStep(column, of.decays, each);
  return /* wgsl */ `
const LINES = THREADS / SPLIT;
const SLICES = (VALUE_SIZE + LINES - 1u) / LINES;
const DECAYS = ${of.decays === 'head' ? '1u' : 'KEY_SIZE'};
${ROWS_OF_WORKGROUP}${DELTA_ROW}
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let own_rows = rows_of_workgroup(group.y);
  let slot = own_rows.slot;
  let head = group.x / SLICES;
  let key_head = ${of.keyOrder === 'tiled' ? 'head % KEY_HEADS' : 'head / (HEADS / KEY_HEADS)'};
  let part = thread % SPLIT;
  let value = group.x % SLICES * LINES + thread / SPLIT;
  let in_range = value < VALUE_SIZE;
  let stored = ((slot * HEADS + head) * VALUE_SIZE + min(value, VALUE_SIZE - 1u)) * KEY_SIZE;
  var line: array<f32, ${of.columns}>;
  var loaded = false;
  for (var row = own_rows.first; row < own_rows.end; row++) {
    if (slot_of(row) != slot) { continue; }
    if (begins(row)) {
      line = array<f32, ${of.columns}>();
    } else if (!loaded) {
      ${each((c) => ` line[${c}] = state[stored + ${column(c)}]; `)}
    }
    loaded = true;
    let keys = (row * KEY_HEADS + key_head) * KEY_SIZE;
    let squares = load_row(keys, row * HEADS + head, thread);
    let query_factor = SCALE / sqrt(all_sum(squares.x, thread) + LENGTH_EPSILON);
    let key_factor = 1.0 / sqrt(all_sum(squares.y, thread) + LENGTH_EPSILON);
    workgroupBarrier();
    ${step}
    sum = part_sum(sum, thread) * query_factor;
    if (part == 0u && in_range) { y[at] = sum; }
    workgroupBarrier();
  }
  if (!loaded || !in_range) { return; }
  ${each((c) => ` state[stored + ${column(c)}] = line[${c}]; `)}
}
`;
}

/**
 * Mamba's recurrence: a workgroup takes `LINES` lines of the states of a slot, `SPLIT` threads a line, from the slot's first row to
 * its last. Wants `part_sum` over the threads of a line, and `exponential`.
 */
export function selectiveScanText(
  of: LineShape & { readonly rates: 'head' | 'state' | 'row' },
  loop: Loop,
): string {
  const column = columnOf(of);
  const each = (body: (n: string) => string) => loop('n', of.columns, body);
  const rate = (n: string) =>
    of.rates === 'head' ? 'rates[head]' : `rates[head * STATE_SIZE + ${column(n)}]`;
  const byState = of.rates === 'row' ? () => 'factors[at]' : (n: string) => `exponential(step * ${rate(n)})`;
  const decay = (n: string) => (of.rates === 'head' ? 'decay' : byState(n));
  const hasSteps = of.rates !== 'row';
  return /* wgsl */ `
const LINES = THREADS / SPLIT;
${ROWS_OF_WORKGROUP}
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let own_rows = rows_of_workgroup(group.y);
  let slot = own_rows.slot;
  let part = thread % SPLIT;
  let index = group.x * LINES + thread / SPLIT;
  let in_range = index < WIDTH;
  let line = min(index, WIDTH - 1u);
  let head = line / HEAD_SIZE;
  let inputs = head / (HEADS / GROUPS) * STATE_SIZE;
  let stored = (slot * WIDTH + line) * STATE_SIZE;
  var values: array<f32, ${of.columns}>;
  var loaded = false;
  for (var row = own_rows.first; row < own_rows.end; row++) {
    if (slot_of(row) != slot) { continue; }
    if (begins(row)) {
      values = array<f32, ${of.columns}>();
    } else if (!loaded) {
      ${each((n) => ` values[${n}] = state[stored + ${column(n)}]; `)}
    }
    loaded = true;
    let step = ${hasSteps ? 'dt[row * HEADS + head]' : '1.0'};
    let input = x[row * WIDTH + line];
    let from_row = row * GROUPS * STATE_SIZE + inputs;
    ${of.rates === 'head' ? `let decay = exponential(step * ${rate('')});` : ''}
    var sum = 0.0;
    ${each(
      (n) => /* wgsl */ `
      let at = from_row + ${column(n)};
      values[${n}] = fma(values[${n}], ${decay(n)}, step * input * b[at]);
      sum = fma(values[${n}], c[at], sum);
    `,
    )}
    sum = part_sum(sum, thread);
    if (part == 0u && in_range) { y[row * WIDTH + line] = ${hasSteps ? 'fma(skips[head], input, sum)' : 'sum'}; }
  }
  if (!loaded || !in_range) { return; }
  ${each((n) => ` state[stored + ${column(n)}] = values[${n}]; `)}
}
`;
}

import type { Loop } from './library/loop.ts';
import { ROWS_OF_WORKGROUP } from './library/slot-rows.ts';

/** A tensor of rows: the parameter that it lies in, and the element at which it begins. */
export interface PlacedRows {
  readonly name: string;
  readonly at: number;
}

/** `NAME_at(i)`: element `i` of a tensor. */
export function rowsText(name: string, rows: PlacedRows): string {
  return `fn ${name}_at(i: u32) -> f32 { return ${rows.name}[${rows.at}u + i]; }`;
}

/** What of RWKV-7's layer is computed with the recurrence: nothing, what makes its keys, or what becomes of its result as well. */
export type WkvFused = 'none' | 'keys' | 'all';

/** How a head's matrix is divided. */
export interface WkvShape {
  readonly headSize: number;
  /** Threads of a row of the matrix. */
  readonly split: number;
  readonly fused: WkvFused;
}

/** The fused vectors lie one after another: `k_k`, `k_a`, `r_k`, the norm's weight and bias. */
const KEYS = /* wgsl */ `
fn removal_key(key: f32, n: u32, thread: u32) -> f32 {
  let removed_key = key * vectors[n];
  return removed_key / max(LENGTH_EPSILON, sqrt(head_total(removed_key * removed_key, thread)));
}
fn replacement_key(key: f32, rate: f32, n: u32) -> f32 { return key + (key * rate - key) * vectors[WIDTH + n]; }
`;

const HEAD_TOTAL = /* wgsl */ `
// The sum over a head's values, which every thread of a row holds alike.
fn head_total(value: f32, thread: u32) -> f32 { return head_sum(value, thread) / f32(SPLIT); }
`;

/**
 * RWKV-7's recurrence: a workgroup takes a head of a slot, `SPLIT` threads a row of the head's matrix, from the slot's first row to
 * its last. Requires `part_sum`, and `head_sum` where the keys are made of others.
 */
export function wkv7RowsTexts({ headSize, split, fused }: WkvShape, loop: Loop): readonly string[] {
  const columns = headSize / split;
  // Neighbouring threads hold neighbouring fours.
  const columnOf = (c: string) => (split === 1 ? c : `(${c} / 4u * ${4 * split}u + 4u * part + ${c} % 4u)`);
  const each = (body: (c: string) => string) => loop('c', columns, body);
  const step = /* wgsl */ `
    var removed = 0.0;
    ${each((c) => ` removed -= line[${c}] * removal[${columnOf(c)}]; `)}
    removed = part_sum(removed, thread);
    var sum = 0.0;
    ${each(
      (c) => /* wgsl */ `
      let j = ${columnOf(c)};
      line[${c}] = line[${c}] * all_w[j] + (removed * rate[j] + value * all_k[j]);
      sum += line[${c}] * all_r[j];
    `,
    )}
    sum = part_sum(sum, thread);
`;
  const load = each((c) => ` line[${c}] = state[stored + ${columnOf(c)}]; `);
  const store = each((c) => ` state[stored + ${columnOf(c)}] = line[${c}]; `);
  return [
    MEMORY,
    ROWS_OF_WORKGROUP,
    ...(fused === 'none' ? [] : [HEAD_TOTAL, KEYS]),
    rowsMain(columns, fused, { load, step, store }),
  ];
}

const MEMORY = /* wgsl */ `
const THREADS = HEAD * SPLIT;
var<workgroup> all_r: array<f32, HEAD>;
var<workgroup> all_w: array<f32, HEAD>;
var<workgroup> all_k: array<f32, HEAD>;
var<workgroup> removal: array<f32, HEAD>;
var<workgroup> rate: array<f32, HEAD>;
`;

function rowsMain(
  columns: number,
  fused: WkvFused,
  of: { load: string; step: string; store: string },
): string {
  const keys =
    fused === 'none'
      ? 'let removed_key = kk_at(i);'
      : 'let removed_key = removal_key(key, n, thread);\n    key = replacement_key(key, own_rate, n);';
  const bonus = 'let bonus = head_total(r_at(i) * key * vectors[2u * WIDTH + n], thread);';
  const finish = /* wgsl */ `
    let centred = sum - head_total(sum, thread) / f32(HEAD);
    let scale = 1.0 / sqrt(head_total(centred * centred, thread) / f32(HEAD) + NORM_EPSILON);
    sum = (centred * scale * vectors[3u * WIDTH + n] + vectors[4u * WIDTH + n] + value * bonus) * gate_at(i);
`;
  return /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let own_rows = rows_of_workgroup(group.y);
  let slot = own_rows.slot;
  let own = thread / SPLIT;
  let part = thread % SPLIT;
  let n = group.x * HEAD + own;
  let stored = (slot * WIDTH + n) * HEAD;
  var line: array<f32, ${columns}>;
  var loaded = false;
  for (var row = own_rows.first; row < own_rows.end; row++) {
    if (slot_of(row) != slot) { continue; }
    if (begins(row)) {
      line = array<f32, ${columns}>();
    } else if (!loaded) {
      ${of.load}
    }
    loaded = true;
    let i = row * WIDTH + n;
    var key = k_at(i);
    let own_rate = a_at(i);
    let value = v_at(i);
    ${keys}
    ${fused === 'all' ? bonus : ''}
    if (part == 0u) {
      all_r[own] = r_at(i);
      all_w[own] = w_at(i);
      all_k[own] = key;
      removal[own] = removed_key;
      rate[own] = removed_key * own_rate;
    }
    workgroupBarrier();
    ${of.step}
    ${fused === 'all' ? finish : ''}
    if (part == 0u) { y[i] = sum; }
    workgroupBarrier();
  }
  if (!loaded) { return; }
  ${of.store}
}
`;
}

/**
 * What becomes of the recurrence's result: normalized by heads, the bonus added, and gated. A team of 32 threads takes
 * a head of a row. Requires `team_sum`.
 */
export const WKV7_FINISH = /* wgsl */ `
const HEADS = WIDTH / HEAD;
const OWN = HEAD / 32u;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let item = group_of(group, groups) * (THREADS / 32u) + thread / 32u;
  let rows = u32(counts[COUNT]);
  let row = min(item / HEADS, max(rows, 1u) - 1u);
  let first = item % HEADS * HEAD + thread % 32u;
  var own = 0.0;
  var sum = 0.0;
  var values: array<f32, OWN>;
  for (var c = 0u; c < OWN; c++) {
    let n = first + 32u * c;
    let i = row * WIDTH + n;
    let key = k_at(i);
    own += r_at(i) * (key + (key * a_at(i) - key) * vectors[WIDTH + n]) * vectors[2u * WIDTH + n];
    values[c] = recurrence[i];
    sum += values[c];
  }
  let bonus = team_sum(own, thread);
  let mean = team_sum(sum, thread) / f32(HEAD);
  var square = 0.0;
  for (var c = 0u; c < OWN; c++) {
    values[c] -= mean;
    square = fma(values[c], values[c], square);
  }
  let scale = 1.0 / sqrt(team_sum(square, thread) / f32(HEAD) + NORM_EPSILON);
  if (item / HEADS >= rows) { return; }
  for (var c = 0u; c < OWN; c++) {
    let n = first + 32u * c;
    let i = row * WIDTH + n;
    let normed = values[c] * scale * vectors[3u * WIDTH + n] + vectors[4u * WIDTH + n];
    y[i] = (normed + v_at(i) * bonus) * gate_at(i);
  }
}
`;

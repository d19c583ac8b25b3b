import type { Loop } from './library/loop.ts';

/**
 * Matrix-vector products for up to `ROWS` rows of activations. A workgroup computes `OUTPUTS` outputs of each of `PARTS`
 * (two where gate and up are one product), a team of 32 threads one after another; a thread takes the row's groups 32 apart,
 * in ascending order, so that a result does not depend on how many rows are computed with it. Texts of their own say which rows
 * and lines a workgroup has (`linesTexts`), where activations come from (`prepare`), how a row is multiplied (`row_product`), what of it is loaded before (`load_ahead`) and what
 * becomes of the sums (`finish`).
 */
export const MATVEC = /* wgsl */ `
const TEAMS = THREADS / 32u;
const ITEMS = PARTS * OUTPUTS / TEAMS;
var<workgroup> results: array<f32, PARTS * ROWS * OUTPUTS>;

fn weight_row(group: u32, place: u32) -> u32 {
  return min(row_of(group, place % OUTPUTS), PART_ROWS - 1u) + place / OUTPUTS * PART_ROWS;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let rows = rows_of_unit(group.y);
  if (rows == 0u) { return; }
  begin(group.y);
  let lane = thread % 32u;
  // Weights are in flight while activations are prepared, and a row's while the one before is summed up.
  var ahead = load_ahead(weight_row(group.x, thread / 32u), lane);
  prepare(rows, thread);
  for (var item = 0u; item < ITEMS; item++) {
    let place = item * TEAMS + thread / 32u;
    let loaded = ahead;
    ahead = load_ahead(weight_row(group.x, min(item + 1u, ITEMS - 1u) * TEAMS + thread / 32u), lane);
    let sums = row_product(weight_row(group.x, place), loaded, lane);
    let sum = row_sums(sums, thread);
    if (lane < ROWS) { results[(place / OUTPUTS * ROWS + lane) * OUTPUTS + place % OUTPUTS] = sum; }
  }
  workgroupBarrier();
  finish(rows, group.x, thread);
}
`;

export const ROWS_IN_ORDER = `fn row_of(group: u32, i: u32) -> u32 { return group * OUTPUTS + i; }`;

/** How much of a row each thread of a team of 32 multiplies. */
export interface RowRounds {
  /** Groups of 32 columns. */
  readonly rounds: number;
  /** Those of them that are loaded before activations are there. */
  readonly ahead: number;
}

/** Integer products of rows of quantized groups; requires `activations_of(row, group)` and `group_product`. */
export function packedProductText({ rounds, ahead }: RowRounds, loop: Loop): string {
  return /* wgsl */ `
// What of a row a thread multiplies first.
struct Ahead { quants: array<Quants, ${ahead}>, scales: array<vec2<u32>, ${ahead}> }
fn load_ahead(row: u32, lane: u32) -> Ahead {
  var ahead: Ahead;
  ${loop(
    'i',
    ahead,
    (i) => /* wgsl */ `
    let group = line_group(row, min(lane + 32u * ${i}, LINE_GROUPS - 1u));
    ahead.quants[${i}] = load_quants(group);
    ahead.scales[${i}] = load_scales(group);
  `,
  )}
  return ahead;
}

fn row_product(row: u32, ahead: Ahead, lane: u32) -> array<f32, ROWS> {
  var loaded = ahead;
  var sums: array<f32, ROWS>;
  ${loop(
    'i',
    rounds,
    (i) => /* wgsl */ `
    let g = lane + 32u * ${i};
    if (g < LINE_GROUPS) {
      let group = line_group(row, g);
      var quants = loaded.quants[min(${i}, ${ahead - 1}u)];
      var raw = loaded.scales[min(${i}, ${ahead - 1}u)];
      if (${i} >= ${ahead}u) {
        quants = load_quants(group);
        raw = load_scales(group);
      }
      let scales = scales_of(raw, group);
      let first = vec4<u32>(levels(quad_of(quants, 0u)), levels(quad_of(quants, 1u)), levels(quad_of(quants, 2u)), levels(quad_of(quants, 3u)));
      let second = vec4<u32>(levels(quad_of(quants, 4u)), levels(quad_of(quants, 5u)), levels(quad_of(quants, 6u)), levels(quad_of(quants, 7u)));
      for (var r = 0u; r < ROWS; r++) { sums[r] += group_product(first, second, scales, activations_of(r, g)); }
    }
  `,
  )}
  return sums;
}
`;
}

/** Activations that were quantized before. */
export const QUANTIZED_BEFORE = /* wgsl */ `
fn prepare(rows: u32, thread: u32) {}
fn activations_of(r: u32, g: u32) -> Quantized {
  let at = activation_row(r) * GROUPS + g;
  let scales = x[X_SCALES_AT / 4u + (at >> 1u)];
  return Quantized(x[2u * at], x[2u * at + 1u], select(scales.xy, scales.zw, (at & 1u) == 1u));
}
`;

/** Activations that each workgroup quantizes for itself; requires `quantize_row`. */
export const QUANTIZED_HERE = /* wgsl */ `
var<workgroup> staged: array<vec4<u32>, 2u * ROWS * GROUPS>;
var<workgroup> staged_scales: array<vec2<u32>, ROWS * GROUPS>;

fn prepare(rows: u32, thread: u32) {
  for (var r = 0u; r < ROWS; r++) { quantize_row(activation_row(min(r, rows - 1u)), r, thread); }
  workgroupBarrier();
}
fn store_half(r: u32, half: u32, words: vec4<u32>, scale: vec2<u32>) {
  staged[r * GROUPS * 2u + half] = words;
  if (half % 2u == 0u) { staged_scales[r * GROUPS + half / 2u] = scale; }
}
fn activations_of(r: u32, g: u32) -> Quantized {
  let at = r * GROUPS + g;
  return Quantized(staged[2u * at], staged[2u * at + 1u], staged_scales[at]);
}
`;

/** f32 products of decoded weights; requires `x4`. */
export const DENSE_PRODUCT = /* wgsl */ `
fn prepare(rows: u32, thread: u32) {}
fn load_ahead(row: u32, lane: u32) -> u32 { return 0u; }
fn row_product(row: u32, ahead: u32, lane: u32) -> array<f32, ROWS> {
  var sums: array<f32, ROWS>;
  for (var k = lane; k < LINE_QUADS; k += 32u) {
    let weights = line_weight4(row, k);
    for (var r = 0u; r < ROWS; r++) { sums[r] += dot(weights, x4(activation_row(r), k)); }
  }
  return sums;
}
`;

/** Four activations of rows of whole vectors. */
export const X4_ALIGNED = `fn x4(row: u32, quad: u32) -> vec4<f32> { return x[row * QUADS + quad]; }`;

/** Four activations of rows of any width, zeros beyond it. */
export const X4_UNALIGNED = /* wgsl */ `
fn x4(row: u32, quad: u32) -> vec4<f32> {
  var values = vec4<f32>();
  for (var i = 0u; i < 4u; i++) {
    if (4u * quad + i < COLUMNS) { values[i] = x[row * COLUMNS + 4u * quad + i]; }
  }
  return values;
}
`;

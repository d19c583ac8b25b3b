import type { Loop } from './library/loop.ts';

/** Halves of groups, 16 elements each, of a row of so many columns that each of a workgroup's threads has. */
export function ownHalves(columns: number, threads: number): number {
  return Math.ceil(columns / 16 / threads);
}

/**
 * `load_row(row, values, thread)` brings a row of `x` into the registers of a workgroup, called by all threads at once: a thread has `own` halves of
 * groups, `THREADS` of them apart. Where `normed`, they are divided by the root of their mean square, times the norm's weight: `all_sum` adds up.
 */
export function loadRowText(of: { readonly own: number; readonly normed: boolean }, loop: Loop): string {
  const quads = 4 * of.own;
  const each = (body: (i: string, j: string) => string) =>
    loop('i', of.own, (i) => loop('j', 4, (j) => body(i, j)));
  const place = (i: string) => `min(thread + ${i} * THREADS, 2u * GROUPS - 1u)`;
  const norm = /* wgsl */ `
  var factors: array<vec4<f32>, ${quads}>;
  ${each((i, j) => ` factors[4u * ${i} + ${j}] = norm_weight[4u * ${place(i)} + ${j}]; `)}
  var square = 0.0;
  ${each(
    (i, j) => /* wgsl */ `
    let own = (*values)[4u * ${i} + ${j}];
    square += select(0.0, dot(own, own), thread + ${i} * THREADS < 2u * GROUPS);
  `,
  )}
  let scale = 1.0 / sqrt(all_sum(square, thread) / f32(32u * GROUPS) + EPSILON);
  ${each((i, j) => ` (*values)[4u * ${i} + ${j}] *= scale * factors[4u * ${i} + ${j}]; `)}`;
  return /* wgsl */ `
alias RowValues = array<vec4<f32>, ${quads}>;
fn load_row(row: u32, values: ptr<function, RowValues>, thread: u32) {
  ${each((i, j) => ` (*values)[4u * ${i} + ${j}] = x[row * GROUPS * 8u + 4u * ${place(i)} + ${j}]; `)}
  ${of.normed ? norm : ''}
}
`;
}

/**
 * `quantize_row(row, place, thread)` brings a row into 8 bits (`QUANTIZED`) and gives its halves of groups to `store_half`. Two neighbouring
 * threads have a group; `pair_max` and `pair_sum` are over both.
 */
export function quantizeRowText(own: number, loop: Loop): string {
  return /* wgsl */ `
fn four_bytes(levels: vec4<i32>) -> u32 {
  let bytes = bitcast<vec4<u32>>(levels) & vec4<u32>(255u);
  return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

fn quantize_row(row: u32, place: u32, thread: u32) {
  var values: RowValues;
  load_row(row, &values, thread);
  ${loop(
    'i',
    own,
    (i) => /* wgsl */ `
    let half = thread + ${i} * THREADS;
    var most = vec4<f32>();
    ${loop('j', 4, (j) => ` most = max(most, abs(values[4u * ${i} + ${j}])); `)}
    let d = pair_max(max(max(most.x, most.y), max(most.z, most.w)), thread) / 127.0;
    let inverse = select(0.0, 1.0 / d, d > 0.0);
    var words = vec4<u32>();
    var sums = vec4<i32>();
    ${loop(
      'j',
      4,
      (j) => /* wgsl */ `
      let levels = vec4<i32>(round(values[4u * ${i} + ${j}] * inverse));
      words[${j}] = four_bytes(levels);
      sums += levels;
    `,
    )}
    let sum = sums.x + sums.y + sums.z + sums.w;
    let other = i32(pair_sum(f32(sum), thread)) - sum;
    if (half < 2u * GROUPS) {
      store_half(place, half, words, vec2<u32>(bitcast<u32>(d), (bitcast<u32>(sum) & 0xffffu) | (bitcast<u32>(other) << 16u)));
    }
  `,
  )}
}
`;
}

/** A workgroup quantizes a row. */
export const QUANTIZE_ROWS = /* wgsl */ `
fn store_half(row: u32, half: u32, words: vec4<u32>, scale: vec2<u32>) {
  let at = row * GROUPS * 2u + half;
  for (var i = 0u; i < 4u; i++) { y[4u * at + i] = words[i]; }
  if (half % 2u == 0u) {
    y[Y_SCALES_AT + at] = scale.x;
    y[Y_SCALES_AT + at + 1u] = scale.y;
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  quantize_row(group.x, group.x, thread);
}
`;

/** A workgroup converts a row to f16, of which a thread has `own` halves of groups. */
export function convertF16RowsText(own: number, loop: Loop): string {
  return /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  var values: RowValues;
  load_row(row, &values, thread);
  ${loop('i', own, (i) =>
    loop(
      'j',
      4,
      (j) => /* wgsl */ `
    let half = thread + ${i} * THREADS;
    if (half < 2u * GROUPS) { y[row * GROUPS * 8u + 4u * half + ${j}] = quad_to_half(values[4u * ${i} + ${j}]); }
  `,
    ),
  )}
}
`;
}

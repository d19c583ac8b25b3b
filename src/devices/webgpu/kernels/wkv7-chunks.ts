import { CHUNKS } from './library/chunks.ts';
import type { Loop } from './library/loop.ts';
import { ROWS_OF_WORKGROUP } from './library/slot-rows.ts';

/** Rows of a chunk and of the matrix that a workgroup takes, and its threads: four for each column of the head. */
export const WKV7_CHUNK = { rows: 16, head: 64, threads: 256 } as const;

/** Workgroup memory of the kernel: vectors of each column, products, three values a thread, and what sums over columns exchange. */
export function wkv7ChunkBytes(lanes: number): number {
  const { rows, head, threads } = WKV7_CHUNK;
  const columns = 16 * head * (9 + 13);
  const products = 4 * (2 * rows) * (3 * rows + 1);
  return columns + products + 4 * threads * 3 + 4 * (threads / Math.min(lanes, head));
}

/**
 * RWKV-7's recurrence for rows of a sequence that stand together, `CHUNK` of them at a time (Yang et al. 2024, "Parallelizing Linear
 * Transformers with the Delta Rule over Sequence Length"; flash-linear-attention's RWKV-7). A workgroup takes `SLICE` rows of the
 * matrix of a head of a slot, which do not know of each other, from the slot's first row to its last.
 *
 * With `D[t]` the product of a chunk's decays up to its row t, and `S` the matrix before the chunk:
 *
 *   before[t] = -removal[t] * D[t - 1]     rate'[s] = removal[s] * a[s] / D[s]
 *   after[t]  = r[t] * D[t]                key'[s]  = k[s] / D[s]
 *   removed[t] = S before[t] + sum over s < t of removed[s] (before[t] . rate'[s]) + v[s] (before[t] . key'[s])
 *   out[t]     = S after[t] + sum over s <= t of removed[s] (after[t] . rate'[s]) + v[s] (after[t] . key'[s])
 *   S          = (S + sum over s of removed[s] rate'[s]^T + v[s] key'[s]^T) * D[last]
 *
 * All dot products are one product of matrices, `left` by `right`; only `removed` is computed row after row. Where `fused`, keys are
 * made first, as those of `wkv7RowsTexts` are. Requires `column_sum` over 64 threads.
 */
export function wkv7ChunksTexts(of: { readonly fused: boolean }, loop: Loop): readonly string[] {
  return [
    MEMORY,
    ROWS_OF_WORKGROUP,
    CHUNKS,
    loadText(of.fused),
    PRODUCTS,
    solveText(loop),
    mainText(of.fused),
  ];
}

const MEMORY = /* wgsl */ `
const CHUNK = 16u;
const SLICE = 16u;
const THREADS = 256u;
// Of each column of the head, in vectors of four rows: what stands before rows and after them; rates, keys and the matrix.
const LEFT = 9u;
const RIGHT = 13u;
const PRODUCTS = 3u * CHUNK + 1u;
var<workgroup> left: array<vec4<f32>, HEAD * LEFT>;
var<workgroup> right: array<vec4<f32>, HEAD * RIGHT>;
// The products of left and right, those that nothing needs 0.
var<workgroup> products: array<f32, 2u * CHUNK * PRODUCTS>;
var<workgroup> values: array<f32, CHUNK * SLICE>;
var<workgroup> removed: array<f32, CHUNK * SLICE>;
var<workgroup> decays: array<f32, THREADS>;
`;

/** What a thread has of a chunk's rows: four rows of a column, and an element of the values. */
const loadText = (fused: boolean): string => /* wgsl */ `
struct Operands { r: vec4<f32>, w: vec4<f32>, k: vec4<f32>, a: vec4<f32>, removal: vec4<f32>, value: f32 }
fn load(chunk: vec2<u32>, head: u32, slice: u32, thread: u32) -> Operands {
  var loaded = Operands(vec4<f32>(), vec4<f32>(1.0), vec4<f32>(), vec4<f32>(), vec4<f32>(), 0.0);
  for (var q = 0u; q < 4u; q++) {
    let row = thread / HEAD * 4u + q;
    if (row >= chunk.y) { break; }
    let i = (chunk.x + row) * WIDTH + head + thread % HEAD;
    loaded.r[q] = r_at(i);
    loaded.w[q] = w_at(i);
    loaded.k[q] = k_at(i);
    loaded.a[q] = a_at(i);
    ${fused ? '' : 'loaded.removal[q] = kk_at(i);'}
  }
  let row = thread / SLICE;
  if (row < chunk.y) { loaded.value = v_at((chunk.x + row) * WIDTH + head + slice + thread % SLICE); }
  return loaded;
}
`;

const PRODUCTS = /* wgsl */ `
// Four rows of left by two of right a thread.
fn multiply(thread: u32) {
  let t = thread / 24u;
  let pair = thread % 24u;
  if (t >= 8u) { return; }
  var first = vec4<f32>();
  var second = vec4<f32>();
  for (var j = 0u; j < HEAD; j++) {
    let lines = left[j * LEFT + t];
    let other = right[j * RIGHT + pair / 2u];
    let two = select(other.xy, other.zw, pair % 2u == 1u);
    first = fma(lines, vec4<f32>(two.x), first);
    second = fma(lines, vec4<f32>(two.y), second);
  }
  for (var c = 0u; c < 4u; c++) {
    let at = (4u * t + c) * PRODUCTS + 2u * pair;
    products[at] = select(0.0, first[c], is_causal(4u * t + c, 2u * pair));
    products[at + 1u] = select(0.0, second[c], is_causal(4u * t + c, 2u * pair + 1u));
  }
}

// What stands before a row sees the rows before it, what stands after a row that row too.
fn is_causal(t: u32, s: u32) -> bool {
  if (s >= 2u * CHUNK) { return true; }
  return select(s % CHUNK <= t - CHUNK, s % CHUNK < t, t < CHUNK);
}

// The sum of products by a column of values.
fn weighted_sum(at: u32, column: u32) -> f32 {
  var sum = 0.0;
  for (var s = 0u; s < CHUNK; s++) { sum = fma(products[at + s], values[s * SLICE + column], sum); }
  return sum;
}
fn weighted_sum_of_removed(at: u32, column: u32) -> f32 {
  var sum = 0.0;
  for (var s = 0u; s < CHUNK; s++) { sum = fma(products[at + s], removed[s * SLICE + column], sum); }
  return sum;
}
`;

/** Makes `removed` of what is known of it without the chunk's rows before: a thread takes a value of all rows. */
const solveText = (loop: Loop): string => /* wgsl */ `
fn solve(column: u32) {
  var known: array<f32, CHUNK>;
  ${loop('t', WKV7_CHUNK.rows, (t) => ` known[${t}] = removed[${t} * SLICE + column]; `)}
  ${loop('s', WKV7_CHUNK.rows, (s) =>
    loop(
      't',
      WKV7_CHUNK.rows,
      (t) =>
        ` if (${t} > ${s}) { known[${t}] = fma(products[${t} * PRODUCTS + ${s}], known[${s}], known[${t}]); } `,
    ),
  )}
  ${loop('t', WKV7_CHUNK.rows, (t) => ` removed[${t} * SLICE + column] = known[${t}]; `)}
}
`;

/** What is done with a chunk that is loaded, while the next one is in flight. */
const STEP = /* wgsl */ `
    workgroupBarrier();
    var decayed = 1.0;
    var chunk_decay = 1.0;
    for (var m = 0u; m < 4u; m++) {
      let factor = decays[m * HEAD + column];
      chunk_decay *= factor;
      if (m < member) { decayed *= factor; }
    }
    let upto = decayed * vec4<f32>(own.w.x, own.w.x * own.w.y, own.w.x * own.w.y * own.w.z, own.w.x * own.w.y * own.w.z * own.w.w);
    if (begins(chunk.x)) { line = vec4<f32>(); }
    left[column * LEFT + member] = -own.removal * vec4<f32>(decayed, upto.xyz);
    left[column * LEFT + 4u + member] = own.r * upto;
    right[column * RIGHT + member] = own.removal * own.a / upto;
    right[column * RIGHT + 4u + member] = own.k / upto;
    right[column * RIGHT + 8u + member] = line;
    values[thread] = own.value;
    own = load(next, head, slice, thread);
    workgroupBarrier();
    multiply(thread);
    workgroupBarrier();
    let before = own_row * PRODUCTS;
    let after = (CHUNK + own_row) * PRODUCTS;
    removed[thread] = products[before + 2u * CHUNK + own_value] + weighted_sum(before + CHUNK, own_value);
    var sum = products[after + 2u * CHUNK + own_value] + weighted_sum(after + CHUNK, own_value);
    workgroupBarrier();
    if (thread < SLICE) { solve(thread); }
    workgroupBarrier();
    sum += weighted_sum_of_removed(after, own_value);
    if (own_row < chunk.y) { y[(chunk.x + own_row) * WIDTH + head + slice + own_value] = sum; }
    for (var s = 0u; s < CHUNK; s++) {
      let at = s * SLICE + 4u * member;
      let gone = vec4<f32>(removed[at], removed[at + 1u], removed[at + 2u], removed[at + 3u]);
      let come = vec4<f32>(values[at], values[at + 1u], values[at + 2u], values[at + 3u]);
      line = fma(gone, vec4<f32>(right[column * RIGHT + s / 4u][s % 4u]), line);
      line = fma(come, vec4<f32>(right[column * RIGHT + 4u + s / 4u][s % 4u]), line);
    }
    line *= chunk_decay;
`;

function mainText(fused: boolean): string {
  const keys = /* wgsl */ `
    own.removal = own.k * vectors[n];
    own.k += (own.k * own.a - own.k) * vectors[WIDTH + n];
    let squares = own.removal * own.removal;
    own.removal /= max(vec4<f32>(LENGTH_EPSILON), sqrt(vec4<f32>(
      column_sum(squares.x, thread), column_sum(squares.y, thread), column_sum(squares.z, thread), column_sum(squares.w, thread))));
`;
  return /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let own_rows = rows_of_workgroup(group.y);
  let slot = own_rows.slot;
  let head = group.x / (HEAD / SLICE) * HEAD;
  let slice = group.x % (HEAD / SLICE) * SLICE;
  let column = thread % HEAD;
  let member = thread / HEAD;
  let n = head + column;
  let own_row = thread / SLICE;
  let own_value = thread % SLICE;
  var chunk = next_chunk(own_rows.first, own_rows.end, slot);
  if (chunk.y == 0u) { return; }
  // A thread has four rows of a column of the slice.
  let stored = (slot * WIDTH + head + slice + 4u * member) * HEAD + column;
  var line = vec4<f32>(state[stored], state[stored + HEAD], state[stored + 2u * HEAD], state[stored + 3u * HEAD]);
  var own = load(chunk, head, slice, thread);
  while (chunk.y > 0u) {
    let next = next_chunk(chunk.x + chunk.y, own_rows.end, slot);
    decays[thread] = own.w.x * own.w.y * own.w.z * own.w.w;
    ${fused ? keys : ''}
    ${STEP}
    chunk = next;
  }
  for (var q = 0u; q < 4u; q++) { state[stored + q * HEAD] = line[q]; }
}
`;
}

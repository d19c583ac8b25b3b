import { CHUNKS } from './library/chunks.ts';
import type { Loop } from './library/loop.ts';
import { ROWS_OF_WORKGROUP } from './library/slot-rows.ts';

/** Rows of a chunk, and threads that share a line of the state. */
export const SCAN_CHUNK = { rows: 16, split: 8 } as const;

/** Workgroup memory of the kernel: `b`, `c`, `x`, what rows see of each other, five values a row, and what sums exchange. */
export function scanChunkBytes(of: { readonly stateSize: number; readonly lines: number }): number {
  const { rows, split } = SCAN_CHUNK;
  const inputs = 2 * 16 * rows * (of.stateSize / 4 + 1);
  return inputs + 4 * rows * (of.lines + rows + 5) + 4 * of.lines * split;
}

/**
 * Mamba-2's recurrence for rows of a sequence that stand together, `ROWS` of them at a time, as products of matrices (Dao & Gu 2024,
 * "Transformers are SSMs", section 6). A workgroup takes `LINES` lines of a head's state in a slot, from the slot's first row to its
 * last, eight threads a line.
 *
 * With `G[t]` the sum of `dt a` of a chunk up to its row t, and `S` the state before the chunk:
 *
 *   seen[t, s] = e^(G[t] - G[s]) dt[s] (b[s] . c[t]) for s <= t
 *   out[t] = e^G[t] S c[t] + sum over s <= t of seen[t, s] x[s] + d x[t]
 *   S      = e^G[last] S + sum over s of e^(G[last] - G[s]) dt[s] x[s] b[s]^T
 *
 * Wants `part_sum` over the threads of a line, and `exponential`.
 */
export function selectiveScanChunksTexts(
  of: { readonly stateSize: number; readonly lines: number },
  loop: Loop,
): readonly string[] {
  const { rows, split } = SCAN_CHUNK;
  const threads = split * of.lines;
  // Fours of an operand that a thread loads, and fours of its line.
  const loaded = (rows * of.stateSize) / 4 / threads;
  const own = of.stateSize / 4 / split;
  return [
    constantsText(loaded, own),
    ROWS_OF_WORKGROUP,
    CHUNKS,
    LOGARITHMS,
    loadText(loop, loaded),
    storeText(loop, loaded),
    FACTORS,
    mainText(loop, own),
  ];
}

const constantsText = (loaded: number, own: number): string => /* wgsl */ `
const ROWS = ${SCAN_CHUNK.rows}u;
const CHUNK = ROWS;
const SPLIT = ${SCAN_CHUNK.split}u;
const LINES = THREADS / SPLIT;
const QUADS = STATE_SIZE / 4u;
// A line is one four longer than it is, so that threads that read different lines meet in no bank.
const LINE = QUADS + 1u;
const LOADED = ${loaded};
const OWN = ${own};
const OWN_X = ROWS / SPLIT;
var<workgroup> all_b: array<vec4<f32>, ROWS * LINE>;
var<workgroup> all_c: array<vec4<f32>, ROWS * LINE>;
var<workgroup> all_x: array<f32, ROWS * LINES>;
var<workgroup> seen: array<f32, ROWS * ROWS>;
var<workgroup> steps: array<f32, ROWS>;
var<workgroup> logarithms: array<f32, ROWS>;
var<workgroup> grown: array<f32, ROWS>;
var<workgroup> added: array<f32, ROWS>;
`;

/** Sums of few logarithms, each from its own rows: of long sums, differences are lost. */
const LOGARITHMS = /* wgsl */ `
fn decay_between(first: u32, end: u32) -> f32 {
  var sum = 0.0;
  for (var t = first; t < end; t++) { sum += logarithms[t]; }
  return exponential(sum);
}
`;

/** What a thread brings of a chunk's rows. */
const loadText = (loop: Loop, loaded: number): string => /* wgsl */ `
struct Operands { b: array<vec4<f32>, LOADED>, c: array<vec4<f32>, LOADED>, x: array<f32, OWN_X>, step: f32 }
fn load(chunk: vec2<u32>, head: u32, line: u32, thread: u32) -> Operands {
  var loaded = Operands();
  let group = head / (HEADS / GROUPS);
  ${loop(
    'i',
    loaded,
    (i) => /* wgsl */ `
    let quad = thread + ${i} * THREADS;
    if (quad / QUADS < chunk.y) {
      let at = ((chunk.x + quad / QUADS) * GROUPS + group) * STATE_SIZE + quad % QUADS * 4u;
      loaded.b[${i}] = vec4<f32>(b[at], b[at + 1u], b[at + 2u], b[at + 3u]);
      loaded.c[${i}] = vec4<f32>(c[at], c[at + 1u], c[at + 2u], c[at + 3u]);
    }
  `,
  )}
  ${loop(
    'i',
    SCAN_CHUNK.rows / SCAN_CHUNK.split,
    (i) => /* wgsl */ `
    let row = thread / LINES + ${i} * SPLIT;
    if (row < chunk.y) { loaded.x[${i}] = x[(chunk.x + row) * WIDTH + line + thread % LINES]; }
  `,
  )}
  if (thread < chunk.y) { loaded.step = dt[(chunk.x + thread) * HEADS + head]; }
  return loaded;
}
`;

/** Puts it where all threads read it. */
const storeText = (loop: Loop, loaded: number): string => /* wgsl */ `
fn store(loaded: Operands, head: u32, thread: u32) {
  ${loop(
    'i',
    loaded,
    (i) => /* wgsl */ `
    let quad = thread + ${i} * THREADS;
    all_b[quad / QUADS * LINE + quad % QUADS] = loaded.b[${i}];
    all_c[quad / QUADS * LINE + quad % QUADS] = loaded.c[${i}];
  `,
  )}
  ${loop('i', SCAN_CHUNK.rows / SCAN_CHUNK.split, (i) => ` all_x[thread + ${i} * THREADS] = loaded.x[${i}]; `)}
  if (thread < ROWS) {
    steps[thread] = loaded.step;
    logarithms[thread] = loaded.step * rates[head];
  }
}
`;

/** What rows see of those up to them, and the factors of rows. */
const FACTORS = /* wgsl */ `
fn make_factors(thread: u32) {
  for (var i = thread; i < ROWS * ROWS; i += THREADS) {
    let t = i / ROWS;
    let s = i % ROWS;
    var sum = 0.0;
    if (s <= t) {
      for (var j = 0u; j < QUADS; j++) { sum += dot(all_c[t * LINE + j], all_b[s * LINE + j]); }
      sum *= decay_between(s + 1u, t + 1u) * steps[s];
    }
    seen[i] = sum;
  }
  if (thread < ROWS) {
    grown[thread] = decay_between(0u, thread + 1u);
    added[thread] = decay_between(thread + 1u, ROWS) * steps[thread];
  }
}
`;

/** A chunk that is stored: what its rows read, and the state behind it. */
function stepText(loop: Loop, each: (body: (q: string) => string) => string): string {
  const { rows } = SCAN_CHUNK;
  return /* wgsl */ `
    var sums = array<f32, ROWS>();
    ${loop(
      't',
      rows,
      (t) => `
    { var sum = 0.0;
      ${each((q) => ` sum += dot(values[${q}], all_c[${t} * LINE + ${q} * SPLIT + part]); `)}
      sums[${t}] = sum; }
    `,
    )}
    workgroupBarrier();
    ${loop(
      't',
      rows,
      (t) => `
    { var sum = sums[${t}] * grown[${t}];
      for (var s = part; s <= ${t}; s += SPLIT) { sum = fma(seen[${t} * ROWS + s], all_x[s * LINES + own_line], sum); }
      let total = part_sum(sum, thread);
      if (part == ${t} % SPLIT && ${t} < chunk.y) {
        y[(chunk.x + ${t}) * WIDTH + line] = fma(skips[head], all_x[${t} * LINES + own_line], total);
      } }
    `,
    )}
    ${each((q) => ` values[${q}] *= grown[ROWS - 1u]; `)}
    for (var s = 0u; s < ROWS; s++) {
      let factor = vec4<f32>(added[s] * all_x[s * LINES + own_line]);
      ${each((q) => ` values[${q}] = fma(factor, all_b[s * LINE + ${q} * SPLIT + part], values[${q}]); `)}
    }
`;
}

function mainText(loop: Loop, own: number): string {
  const each = (body: (q: string) => string) => loop('q', own, body);
  return /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let own_rows = rows_of_workgroup(group.y);
  let slot = own_rows.slot;
  let first_line = group.x * LINES;
  let head = first_line / HEAD_SIZE;
  let part = thread % SPLIT;
  let own_line = thread / SPLIT;
  let line = first_line + own_line;
  var chunk = next_chunk(own_rows.first, own_rows.end, slot);
  if (chunk.y == 0u) { return; }
  let stored = (slot * WIDTH + line) * STATE_SIZE + 4u * part;
  var values: array<vec4<f32>, OWN>;
  ${each(
    (q) => `
  { let at = stored + 4u * SPLIT * ${q}; values[${q}] = vec4<f32>(state[at], state[at + 1u], state[at + 2u], state[at + 3u]); }
  `,
  )}
  var loaded = load(chunk, head, first_line, thread);
  while (chunk.y > 0u) {
    let next = next_chunk(chunk.x + chunk.y, own_rows.end, slot);
    store(loaded, head, thread);
    loaded = load(next, head, first_line, thread);
    if (begins(chunk.x)) { values = array<vec4<f32>, OWN>(); }
    workgroupBarrier();
    make_factors(thread);
    ${stepText(loop, each)}
    workgroupBarrier();
    chunk = next;
  }
  ${each(
    (q) => `
  { let at = stored + 4u * SPLIT * ${q};
    state[at] = values[${q}].x; state[at + 1u] = values[${q}].y; state[at + 2u] = values[${q}].z; state[at + 3u] = values[${q}].w; }
  `,
  )}
}
`;
}

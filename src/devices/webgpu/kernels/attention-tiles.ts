import type { Loop } from './library/loop.ts';

/** The part of a tile that a thread loads and weighs, and its number of matrices. */
export interface AttentionTileCounts {
  /** Matrices along a key, across a tile's keys, along a value, and down a tile's keys. */
  readonly keyParts: number;
  readonly keyTiles: number;
  readonly valueParts: number;
  readonly weightParts: number;
  /** Threads that weigh the scores of a row, and octets and quads that each of them has in a tile. */
  readonly rowThreads: number;
  readonly ownOctets: number;
  readonly ownQuads: number;
  /** Octets of a tile's keys and values that a thread loads. */
  readonly ownKeys: number;
  readonly ownValues: number;
}

/**
 * Attention of many rows over a paged cache of halves, or of blocks decoded to those, on matrix units: a workgroup has `TILE_ROWS` rows of one head, each of its
 * teams, a subgroup of `LANES`, `MATRIX_ROWS` of them, and walks over tiles of `KEYS` positions, twice: once for each row's largest
 * score, and once for the weights beside it and the values' sums, which matrices of sums could not be scaled for. Rows of several
 * sequences may meet in a workgroup: it walks over the positions of each run of rows of one sequence, and writes the run's results.
 * `emit_quad` says where a result goes.
 */
export function attentionTilesTexts(counts: AttentionTileCounts, loop: Loop): readonly string[] {
  return [RUNS, tileText(counts, loop), mainText(counts, loop)];
}

/** Memory, and the runs of rows of one sequence. */
const RUNS = /* wgsl */ `
const LOG2_E = 1.44269504;
const TEAMS = TILE_ROWS / MATRIX_ROWS;
const THREADS = TEAMS * LANES;
// Vectors from one line to the next: no bank conflicts between neighbouring lines.
const KEY_LINE = KEY / 8u + 1u;
const VALUE_LINE = VALUE / 8u + 1u;
const SCORE_LINE = KEYS / 4u + 1u;
const WEIGHT_LINE = KEYS / 8u + 1u;
const SCORES_AT = KEYS * max(KEY_LINE, VALUE_LINE);
const WEIGHTS_AT = SCORES_AT + TILE_ROWS * SCORE_LINE;
var<workgroup> tile: array<vec4<u32>, TILE_VECTORS>;
var<workgroup> cells: array<u32, KEYS>;
var<workgroup> shared_values: array<f32, THREADS>;
// Where a run of rows ends, its slot, and its positions from the first to the last.
var<workgroup> run: vec4<u32>;
var<workgroup> run_end: atomic<u32>;
var<workgroup> run_first: atomic<u32>;
var<workgroup> run_last: atomic<u32>;

fn slot_of(row: u32) -> u32 { return u32(slots[row >> 2u][row & 3u]); }
fn position_of(row: u32) -> u32 { return u32(positions[row >> 2u][row & 3u]); }

fn halves(values: vec4<f32>) -> vec2<u32> { return vec2<u32>(pack2x16float(values.xy), pack2x16float(values.zw)); }

// Finds the run of rows of one sequence from start on; called by all threads at once.
fn find_run(start: u32, rows: u32, thread: u32) {
  if (thread == 0u) {
    atomicStore(&run_end, rows);
    atomicStore(&run_first, 0xffffffffu);
    atomicStore(&run_last, 0u);
  }
  workgroupBarrier();
  let own = start + thread;
  let slot = slot_of(start);
  if (own < rows && slot_of(own) != slot) { atomicMin(&run_end, own); }
  workgroupBarrier();
  if (own < atomicLoad(&run_end)) {
    atomicMin(&run_first, position_of(own));
    atomicMax(&run_last, position_of(own));
  }
  workgroupBarrier();
  if (thread == 0u) {
    let first = atomicLoad(&run_first);
    let seen = first_visible(first);
    run = vec4<u32>(atomicLoad(&run_end), slot, seen, atomicLoad(&run_last));
  }
}

fn find_cells(at: u32, thread: u32) {
  for (var i = thread; i < KEYS; i += THREADS) { cells[i] = cell_of(run.y, min(at + i, run.w)); }
}
`;

/** What is done with a tile of positions. */
function tileText({ keyParts, keyTiles, ownKeys, ownValues }: AttentionTileCounts, loop: Loop): string {
  const load = (count: number, of: 'KEY' | 'VALUE', stride: 'KEY' | 'VALUE_STRIDE') =>
    loop(
      'i',
      count,
      (i) => /* wgsl */ `
    let place = (thread + ${i} * THREADS) / (${of} / 8u);
    let octet = (thread + ${i} * THREADS) % (${of} / 8u);
    tile[place * ${of}_LINE + octet] = ${of.toLowerCase()}_octet((cells[place] * KV_HEADS + kv_head) * (${stride} / 8u) + octet);
  `,
    );
  return /* wgsl */ `
// Scores of the team's rows with a tile of positions, into its part of the tile's memory.
fn score(queries: ptr<function, array<Left, ${keyParts}>>, team: u32, lane: u32) {
  ${loop(
    't',
    keyTiles,
    (t) => /* wgsl */ `
    var sums = Sums();
    ${loop(
      'k',
      keyParts,
      (k) => /* wgsl */ `
      let right = right_at(${t} * MATRIX_OUTPUTS * KEY_LINE + ${k} * MATRIX_DEPTH / 8u, KEY_LINE);
      sums = multiplied((*queries)[${k}], right, sums, lane);
    `,
    )}
    store_sums(SCORES_AT + team * MATRIX_ROWS * SCORE_LINE + ${t} * MATRIX_OUTPUTS / 4u, SCORE_LINE, sums, lane);
  `,
  )}
}

fn load_keys(kv_head: u32, thread: u32) {
  ${load(ownKeys, 'KEY', 'KEY')}
}

fn load_values(kv_head: u32, thread: u32) {
  ${load(ownValues, 'VALUE', 'VALUE_STRIDE')}
}
`;
}

function mainText(counts: AttentionTileCounts, loop: Loop): string {
  const { keyParts, valueParts, rowThreads } = counts;
  return /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let rows = u32(counts[COUNT]);
  let first_row = group.x * TILE_ROWS;
  if (first_row >= rows) { return; }
  let head = group.y;
  let kv_head = head / GROUP;
  let lane = thread % LANES;
  let team = thread / LANES;
  let end = min(first_row + TILE_ROWS, rows);
  // The row of which the thread weighs some scores.
  let own_row = first_row + team * MATRIX_ROWS + lane / ${rowThreads}u;
  let own_line = team * MATRIX_ROWS + lane / ${rowThreads}u;
  let own_part = lane % ${rowThreads}u;
  // The row sees so many positions from the first on.
  let own_position = position_of(min(own_row, rows - 1u));
  let own_first = first_visible(own_position);
  let own_count = own_position + 1u - own_first;

  for (var i = thread; i < TILE_ROWS * KEY / 8u; i += THREADS) {
    let row = min(first_row + i / (KEY / 8u), rows - 1u);
    let octet = i % (KEY / 8u);
    let scale = scale_at(position_of(row));
    let at = (row * TOTAL_HEADS + head) * (KEY / 4u) + 2u * octet;
    tile[i / (KEY / 8u) * KEY_LINE + octet] = vec4<u32>(halves(q[at] * scale), halves(q[at + 1u] * scale));
  }
  workgroupBarrier();
  var queries: array<Left, ${keyParts}>;
  ${loop(
    'k',
    keyParts,
    (k) => /* wgsl */ `
    queries[${k}] = left_at(team * MATRIX_ROWS * KEY_LINE + ${k} * MATRIX_DEPTH / 8u, KEY_LINE, lane);
  `,
  )}
  workgroupBarrier();

  var max_score = LOWEST;
  var total = 0.0;
  var sums: array<Sums, ${valueParts}>;
  for (var start = first_row; start < end;) {
    ${runText(counts, loop)}
    start = part.x;
  }
}
`;
}

/** Loads a tile's keys and computes its scores. */
const SCORE_TILE = /* wgsl */ `
      find_cells(at, thread);
      workgroupBarrier();
      load_keys(kv_head, thread);
      workgroupBarrier();
      score(&queries, team, lane);
      workgroupBarrier();
`;

/** What is done for a run of rows of one sequence. */
function runText(counts: AttentionTileCounts, loop: Loop): string {
  const { rowThreads, valueParts } = counts;
  return /* wgsl */ `
    find_run(start, end, thread);
    let part = workgroupUniformLoad(&run);
    let seen = select(0u, own_count, own_row >= start && own_row < part.x);
    // The others' rows take part with weights of zero, which make no zero of what is no number: their sums are unused.
    ${loop('v', valueParts, (v) => ` sums[${v}] = Sums(); `)}

    for (var at = part.z; at <= part.w; at += KEYS) {
${SCORE_TILE}      ${largestText(counts, loop)}
    }
    shared_values[thread] = max_score;
    workgroupBarrier();
    ${loop('i', rowThreads, (i) => ` max_score = max(max_score, shared_values[thread - own_part + ${i}]); `)}

    for (var at = part.z; at <= part.w; at += KEYS) {
${SCORE_TILE}      load_values(kv_head, thread);
      ${weightsText(counts, loop)}
      workgroupBarrier();
      ${sumText(counts, loop)}
      workgroupBarrier();
    }

    shared_values[thread] = select(total, denominator(max_score, total, head), own_part == 0u);
    let scratch = team * MATRIX_ROWS * MATRIX_OUTPUTS / 4u;
    ${resultsText(counts, loop)}
`;
}

/** The largest of the thread's scores in a tile. */
function largestText({ rowThreads, ownQuads }: AttentionTileCounts, loop: Loop): string {
  return loop(
    'i',
    ownQuads,
    (i) => /* wgsl */ `
        let quad = ${i} * ${rowThreads}u + own_part;
        let scores = bitcast<vec4<f32>>(tile[SCORES_AT + own_line * SCORE_LINE + quad]);
        ${loop(
          'j',
          4,
          (j) => /* wgsl */ `
          max_score = max(max_score, select(LOWEST, biased(capped(scores[${j}]), head, at + 4u * quad + ${j}, own_position), at + 4u * quad + ${j} - own_first < seen));
        `,
        )}
      `,
  );
}

/** The thread's weights in a tile, and their total. */
function weightsText({ rowThreads, ownOctets }: AttentionTileCounts, loop: Loop): string {
  return loop(
    'i',
    ownOctets,
    (i) => /* wgsl */ `
        let octet = ${i} * ${rowThreads}u + own_part;
        var pairs = array<vec2<u32>, 2>();
        ${loop(
          'h',
          2,
          (h) => /* wgsl */ `
          let scores = bitcast<vec4<f32>>(tile[SCORES_AT + own_line * SCORE_LINE + 2u * octet + ${h}]);
          var weights = vec4<f32>();
          ${loop(
            'j',
            4,
            (j) => /* wgsl */ `
            let position = at + 8u * octet + 4u * ${h} + ${j};
            let weight = exp2((biased(capped(scores[${j}]), head, position, own_position) - max_score) * LOG2_E);
            weights[${j}] = select(0.0, weight, position - own_first < seen);
          `,
          )}
          total += weights.x + weights.y + weights.z + weights.w;
          pairs[${h}] = halves(weights);
        `,
        )}
        tile[WEIGHTS_AT + own_line * WEIGHT_LINE + octet] = vec4<u32>(pairs[0], pairs[1]);
      `,
  );
}

/** The values of a tile by their weights. */
function sumText({ weightParts, valueParts }: AttentionTileCounts, loop: Loop): string {
  return loop(
    'k',
    weightParts,
    (k) => /* wgsl */ `
        let left = left_at(WEIGHTS_AT + team * MATRIX_ROWS * WEIGHT_LINE + ${k} * MATRIX_DEPTH / 8u, WEIGHT_LINE, lane);
        ${loop(
          'v',
          valueParts,
          (v) => /* wgsl */ `
          let right = right_rows_at(${k} * MATRIX_DEPTH * VALUE_LINE + ${v} * MATRIX_OUTPUTS / 8u, VALUE_LINE);
          sums[${v}] = multiplied(left, right, sums[${v}], lane);
        `,
        )}
      `,
  );
}

/** Gives the run's results out. */
function resultsText({ rowThreads, valueParts }: AttentionTileCounts, loop: Loop): string {
  return loop(
    'v',
    valueParts,
    (v) => /* wgsl */ `
      store_sums(scratch, MATRIX_OUTPUTS / 4u, sums[${v}], lane);
      workgroupBarrier();
      for (var i = lane; i < MATRIX_ROWS * MATRIX_OUTPUTS / 4u; i += LANES) {
        let line = i / (MATRIX_OUTPUTS / 4u);
        let row = first_row + team * MATRIX_ROWS + line;
        var divisor = 0.0;
        ${loop('s', rowThreads, (s) => ` divisor += shared_values[team * LANES + line * ${rowThreads}u + ${s}]; `)}
        let element = ${v} * MATRIX_OUTPUTS + i % (MATRIX_OUTPUTS / 4u) * 4u;
        let quad = bitcast<vec4<f32>>(tile[scratch + i]) / divisor;
        if (row >= start && row < part.x) { emit_quad(((row * TOTAL_HEADS + head) * VALUE + element) / 4u, quad); }
      }
      workgroupBarrier();
    `,
  );
}

/** Four neighbouring results as f32. */
export const EMIT_RESULT_FLOATS = /* wgsl */ `fn emit_quad(at: u32, values: vec4<f32>) { y[at] = values; }`;

/** Four neighbouring results as halves for the next product. */
export const EMIT_RESULT_HALVES = /* wgsl */ `fn emit_quad(at: u32, values: vec4<f32>) { y[at] = quad_to_half(values); }`;

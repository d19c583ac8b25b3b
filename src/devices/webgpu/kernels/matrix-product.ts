import type { Loop } from './library/loop.ts';

/** How much of a tile a thread loads and a subgroup multiplies. */
export interface MatrixTileCounts {
  /** Matrices of a subgroup, down and across. */
  readonly rowParts: number;
  readonly outputParts: number;
  /** Octets of activations and pieces of weights in a thread's part of a slice. */
  readonly ownOctets: number;
  readonly ownPieces: number;
  /** Slices that are on their way while one is multiplied. */
  readonly ahead: number;
}

/**
 * Matrix products for many rows on the GPU's matrix units: a workgroup computes a tile of `TILE_ROWS` x `TILE_OUTPUTS`, each of
 * its teams, a subgroup of `LANES`, `TEAM_ROWS` x `TEAM_OUTPUTS` of it; `SPLITS` teams share the columns of the same part. Slices of `DEPTH`
 * columns, activations and decoded weights as halves, go through workgroup memory; while one is multiplied, the next ones are on their way to
 * registers. `row_of` says which of the weights' rows an output of the tile is, `store_quad` what becomes of four neighbouring sums,
 * `tileRowsText` which rows the tile has.
 */
export function matrixProductTexts(counts: MatrixTileCounts, loop: Loop): readonly string[] {
  return [TILE, slicesText(counts, loop), mainText(counts, loop)];
}

const TILE = /* wgsl */ `
const OCTETS = DEPTH / 8u;
// A vector more than there are octets: no bank conflicts between neighbouring lines.
const LINE = OCTETS + 1u;
const PIECES = DEPTH / 16u;
const TEAMS_ACROSS = TILE_OUTPUTS / TEAM_OUTPUTS;
const TILE_TEAMS = TEAMS_ACROSS * (TILE_ROWS / TEAM_ROWS);
const TEAMS = SPLITS * TILE_TEAMS;
const THREADS = LANES * TEAMS;
const SPLIT_OCTETS = OCTETS / SPLITS;
const WEIGHTS_AT = TILE_ROWS * LINE;
const SUMS_LINE = TEAM_OUTPUTS / 4u;
const ROW_OCTETS = GROUPS * 4u;
// A slice of both, and in the end some sums of all teams.
var<workgroup> tile: array<vec4<u32>, max((TILE_ROWS + TILE_OUTPUTS) * LINE, TEAMS * MATRIX_ROWS * SUMS_LINE)>;

fn sums_at(place: u32) -> vec4<f32> {
  var sums = bitcast<vec4<f32>>(tile[place]);
  for (var s = 1u; s < SPLITS; s++) { sums += bitcast<vec4<f32>>(tile[place + s * TILE_TEAMS * MATRIX_ROWS * SUMS_LINE]); }
  return sums * (1.0 / WEIGHT_SCALE);
}
`;

/** Loads slices into registers, and stores them in the tile. */
function slicesText({ ownOctets, ownPieces }: MatrixTileCounts, loop: Loop): string {
  return /* wgsl */ `
struct Slice { first_row: u32, rows: u32, group: u32, octet: u32 }

fn load(octets: ptr<function, array<vec4<u32>, ${ownOctets}>>, pieces: ptr<function, array<Piece, ${ownPieces}>>, slice: Slice, thread: u32) {
  ${loop(
    'i',
    ownOctets,
    (i) => /* wgsl */ `
    let at = thread + ${i} * THREADS;
    (*octets)[${i}] = x[activation_row(min(slice.first_row + at / OCTETS, slice.rows - 1u)) * ROW_OCTETS + slice.octet + at % OCTETS];
  `,
  )}
  ${loop(
    'i',
    ownPieces,
    (i) => /* wgsl */ `
    let at = thread + ${i} * THREADS;
    (*pieces)[${i}] = load_piece(weight_line(row_of(slice.group, at / PIECES)) * GROUPS * 2u + slice.octet / 2u + at % PIECES);
  `,
  )}
}

// Activations of a slice behind the last one are zeros.
fn store(octets: ptr<function, array<vec4<u32>, ${ownOctets}>>, pieces: ptr<function, array<Piece, ${ownPieces}>>, is_slice: bool, thread: u32) {
  ${loop(
    'i',
    ownOctets,
    (i) => /* wgsl */ `
    let at = thread + ${i} * THREADS;
    tile[at / OCTETS * LINE + at % OCTETS] = select(vec4<u32>(), (*octets)[${i}], is_slice);
  `,
  )}
  ${loop(
    'i',
    ownPieces,
    (i) => /* wgsl */ `
    let at = thread + ${i} * THREADS;
    let place = WEIGHTS_AT + at / PIECES * LINE + at % PIECES * 2u;
    let decoded = piece_octets((*pieces)[${i}]);
    tile[place] = decoded[0];
    tile[place + 1u] = decoded[1];
  `,
  )}
}
`;
}

/** What is done with one of the slices that are loaded, and the loading of the one that takes its place. */
function stageText({ rowParts, outputParts, ahead }: MatrixTileCounts, stage: number, loop: Loop): string {
  const isSlice =
    stage === 0
      ? 'true'
      : `ROW_OCTETS % (${ahead}u * OCTETS) == 0u || slice + ${stage}u * OCTETS < ROW_OCTETS`;
  return /* wgsl */ `
    store(&octets_${stage}, &pieces_${stage}, ${isSlice}, thread);
    workgroupBarrier();
    // The last slice is loaded again and again: a branch would keep what is loaded from being waited for later.
    load(&octets_${stage}, &pieces_${stage}, Slice(first_row, rows, group.x, min(slice + ${stage + ahead}u * OCTETS, ROW_OCTETS - OCTETS)), thread);
    // A start that is known lets compilers unroll the loop.
    for (var own_k = 0u; own_k < SPLIT_OCTETS; own_k += MATRIX_DEPTH / 8u) {
      let k = split * SPLIT_OCTETS + own_k;
      ${loop(
        'o',
        outputParts,
        (o) => /* wgsl */ `
        rights[${o}] = right_at(WEIGHTS_AT + (team_output + ${o} * MATRIX_OUTPUTS) * LINE + k, LINE);
      `,
      )}
      ${loop(
        'r',
        rowParts,
        (r) => /* wgsl */ `
        let left = left_at((team_row + ${r} * MATRIX_ROWS) * LINE + k, LINE, lane);
        ${loop('o', outputParts, (o) => ` sums[${r}][${o}] = multiplied(left, rights[${o}], sums[${r}][${o}], lane); `)}
      `,
      )}
    }
    workgroupBarrier();
`;
}

function mainText(counts: MatrixTileCounts, loop: Loop): string {
  const { rowParts, outputParts, ownOctets, ownPieces, ahead } = counts;
  const stages = Array.from({ length: ahead }, (_, stage) => stage);
  return /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let tile_rows = find_rows(group.y, thread);
  let first_row = tile_rows.x;
  let rows = tile_rows.y;
  if (first_row >= rows) { return; }
  let lane = thread % LANES;
  let split = select(0u, thread / LANES / TILE_TEAMS, SPLITS > 1u);
  let team = thread / LANES - split * TILE_TEAMS;
  let team_row = team / TEAMS_ACROSS * TEAM_ROWS;
  let team_output = team % TEAMS_ACROSS * TEAM_OUTPUTS;

  var sums: array<array<Sums, ${outputParts}>, ${rowParts}>;
  var rights: array<Right, ${outputParts}>;
  ${stages
    .map(
      (stage) => /* wgsl */ `
  var octets_${stage}: array<vec4<u32>, ${ownOctets}>;
  var pieces_${stage}: array<Piece, ${ownPieces}>;
  load(&octets_${stage}, &pieces_${stage}, Slice(first_row, rows, group.x, min(${stage}u * OCTETS, ROW_OCTETS - OCTETS)), thread);
  `,
    )
    .join('')}
  for (var slice = 0u; slice < ROW_OCTETS; slice += ${ahead}u * OCTETS) {
    ${stages.map((stage) => stageText(counts, stage, loop)).join('')}
  }

  let scratch = team * MATRIX_ROWS * SUMS_LINE;
  let own_scratch = scratch + split * TILE_TEAMS * MATRIX_ROWS * SUMS_LINE;
  ${loop(
    'r',
    rowParts,
    (r) => /* wgsl */ `
    ${loop('o', outputParts, (o) => ` store_sums(own_scratch + ${o} * MATRIX_OUTPUTS / 4u, SUMS_LINE, sums[${r}][${o}], lane); `)}
    workgroupBarrier();
    for (var i = split * LANES + lane; i < MATRIX_ROWS * SUMS_LINE; i += SPLITS * LANES) {
      let row = first_row + team_row + ${r} * MATRIX_ROWS + i / SUMS_LINE;
      if (row < rows) { store_quad(output_row(row), group.x, team_output + i % SUMS_LINE * 4u, scratch + i); }
    }
    workgroupBarrier();
  `,
  )}
}
`;
}

/** Sums as f32, with what `addend_of` adds to them. */
export const STORE_QUAD_FLOATS = /* wgsl */ `
fn row_of(group: u32, output: u32) -> u32 { return min(group * TILE_OUTPUTS + output, PART_ROWS - 1u); }
fn store_quad(row: u32, group: u32, output: u32, place: u32) {
  let sums = sums_at(place);
  let n = group * TILE_OUTPUTS + output;
  for (var j = 0u; j < 4u; j++) {
    if (n + j < PART_ROWS) { y[row * WIDTH + FIRST_ROW + n + j] = sums[j] + addend_of(row, FIRST_ROW + n + j); }
  }
}
`;

/** `gated(gate, up)` with their biases, given to `emit_quad`: 16 outputs of the gate and 16 of up take turns in the tile. */
export const STORE_QUAD_GATED = /* wgsl */ `
fn row_of(group: u32, output: u32) -> u32 {
  let n = group * (TILE_OUTPUTS / 2u) + output / 32u * 16u + output % 16u;
  return min(n, PART_ROWS - 1u) + output / 16u % 2u * PART_ROWS;
}
fn store_quad(row: u32, group: u32, output: u32, place: u32) {
  let n = group * (TILE_OUTPUTS / 2u) + output / 32u * 16u + output % 16u;
  if (output / 16u % 2u == 1u || n >= PART_ROWS) { return; }
  let gate = sums_at(place);
  let up = sums_at(place + 4u);
  var values: vec4<f32>;
  for (var j = 0u; j < 4u; j++) { values[j] = gated(gate[j] + bias_of(0u, row, n + j), up[j] + bias_of(1u, row, n + j)); }
  emit_quad(row, n, values);
}
`;

/** Four neighbouring results as f32. */
export const EMIT_QUAD_FLOATS = /* wgsl */ `
fn emit_quad(row: u32, n: u32, values: vec4<f32>) {
  for (var j = 0u; j < 4u; j++) {
    if (n + j < PART_ROWS) { y[row * WIDTH + n + j] = values[j]; }
  }
}
`;

/** Four neighbouring results as halves for the next product; rows are whole quads. */
export const EMIT_QUAD_HALVES = /* wgsl */ `
fn emit_quad(row: u32, n: u32, values: vec4<f32>) { y[(row * WIDTH + n) / 4u] = quad_to_half(values); }
`;

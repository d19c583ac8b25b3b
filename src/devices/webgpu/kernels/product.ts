/**
 * Matrix products for more rows: a workgroup of 256 threads computes a tile of `TILE_ROWS` x 64 outputs, each thread four
 * outputs 16 apart of some rows, over slices of 32 columns whose weights are decoded into workgroup memory. `store` says what
 * becomes of a thread's sums, `row_of` which of the weights' rows a column of the tile is,
 * `tileRowsText` which rows it has.
 */
export const PRODUCT = /* wgsl */ `
const DEPTH = 32u;
const OWN_ROWS = TILE_ROWS / 16u;
var<workgroup> x_tile: array<f32, TILE_ROWS * DEPTH>;
var<workgroup> weight_tile: array<f32, 64u * DEPTH>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let tile_rows = find_rows(group.y, thread);
  let first_row = tile_rows.x;
  let rows = tile_rows.y;
  if (first_row >= rows) { return; }
  let column = thread % 16u;
  let own_row = thread / 16u * OWN_ROWS;
  var sums: array<vec4<f32>, OWN_ROWS>;
  for (var slice = 0u; slice < QUADS; slice += DEPTH / 4u) {
    for (var i = thread; i < 64u * DEPTH / 4u; i += 256u) {
      let output = i / 8u;
      let quad = slice + i % 8u;
      var values = vec4<f32>();
      if (quad < QUADS) { values = weight4(weight_line(row_of(group.x, output)), quad); }
      for (var k = 0u; k < 4u; k++) { weight_tile[(i % 8u * 4u + k) * 64u + output] = values[k]; }
    }
    for (var i = thread; i < TILE_ROWS * DEPTH / 4u; i += 256u) {
      let row = i / 8u;
      let quad = slice + i % 8u;
      var values = vec4<f32>();
      if (quad < QUADS && first_row + row < rows) { values = x4(activation_row(first_row + row), quad); }
      for (var k = 0u; k < 4u; k++) { x_tile[(i % 8u * 4u + k) * TILE_ROWS + row] = values[k]; }
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let at = k * 64u + column;
      let weights = vec4<f32>(weight_tile[at], weight_tile[at + 16u], weight_tile[at + 32u], weight_tile[at + 48u]);
      for (var r = 0u; r < OWN_ROWS; r++) { sums[r] = fma(weights, vec4<f32>(x_tile[k * TILE_ROWS + own_row + r]), sums[r]); }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < OWN_ROWS; r++) {
    if (first_row + own_row + r < rows) { store(output_row(first_row + own_row + r), group.x, column, sums[r]); }
  }
}
`;

/** The sums with what `addend_of` adds to them. */
export const STORE_FLOATS = /* wgsl */ `
fn row_of(group: u32, output: u32) -> u32 { return min(group * 64u + output, PART_ROWS - 1u); }
fn store(row: u32, group: u32, column: u32, sums: vec4<f32>) {
  for (var j = 0u; j < 4u; j++) {
    let n = group * 64u + column + 16u * j;
    if (n < PART_ROWS) { y[row * WIDTH + FIRST_ROW + n] = sums[j] + addend_of(row, FIRST_ROW + n); }
  }
}
`;

/** `gated(gate, up)`, with their biases: the tile's first 32 columns are the gate's. */
export const STORE_GATED = /* wgsl */ `
fn row_of(group: u32, output: u32) -> u32 {
  return min(group * 32u + output % 32u, PART_ROWS - 1u) + output / 32u * PART_ROWS;
}
fn store(row: u32, group: u32, column: u32, sums: vec4<f32>) {
  for (var j = 0u; j < 2u; j++) {
    let n = group * 32u + column + 16u * j;
    if (n < PART_ROWS) { y[row * WIDTH + n] = gated(sums[j] + bias_of(0u, row, n), sums[j + 2u] + bias_of(1u, row, n)); }
  }
}
`;

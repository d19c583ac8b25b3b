/**
 * Matrix products for many rows by packed dot products: a workgroup of 256 threads computes a tile of `TILE_ROWS` x 64 outputs, each
 * thread four outputs 16 apart of some rows, over slices of some groups of 32 columns, whose levels and quantized activations go
 * through workgroup memory. `store` and `row_of` are as those of `PRODUCT`; requires `activations_of(row, group)` and `tileRowsText`.
 */
export const PACKED_TILES = /* wgsl */ `
const OWN_ROWS = TILE_ROWS / 16u;
const SLICE = 2u;
var<workgroup> x_low: array<vec4<u32>, SLICE * TILE_ROWS>;
var<workgroup> x_high: array<vec4<u32>, SLICE * TILE_ROWS>;
var<workgroup> x_scales: array<vec2<u32>, SLICE * TILE_ROWS>;
var<workgroup> weights_low: array<vec4<u32>, SLICE * 64u>;
var<workgroup> weights_high: array<vec4<u32>, SLICE * 64u>;
var<workgroup> weight_scales: array<Scales, SLICE * 64u>;

fn load_weights(group: u32, slice: u32, thread: u32) {
  for (var i = thread; i < SLICE * 64u; i += 256u) {
    let at = weight_line(row_of(group, i % 64u)) * GROUPS + min(slice + i / 64u, GROUPS - 1u);
    let quants = load_quants(at);
    weights_low[i] = vec4<u32>(levels(quad_of(quants, 0u)), levels(quad_of(quants, 1u)), levels(quad_of(quants, 2u)), levels(quad_of(quants, 3u)));
    weights_high[i] = vec4<u32>(levels(quad_of(quants, 4u)), levels(quad_of(quants, 5u)), levels(quad_of(quants, 6u)), levels(quad_of(quants, 7u)));
    weight_scales[i] = scales_at(at);
  }
}

fn load_activations(first_row: u32, rows: u32, slice: u32, thread: u32) {
  for (var i = thread; i < SLICE * TILE_ROWS; i += 256u) {
    let quantized = activations_of(min(first_row + i % TILE_ROWS, rows - 1u), min(slice + i / TILE_ROWS, GROUPS - 1u));
    x_low[i] = quantized.low;
    x_high[i] = quantized.high;
    x_scales[i] = quantized.scale;
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let tile_rows = find_rows(group.y, thread);
  let first_row = tile_rows.x;
  let rows = tile_rows.y;
  if (first_row >= rows) { return; }
  let column = thread % 16u;
  let own_row = thread / 16u * OWN_ROWS;
  var sums: array<vec4<f32>, OWN_ROWS>;
  for (var slice = 0u; slice < GROUPS; slice += SLICE) {
    load_weights(group.x, slice, thread);
    load_activations(first_row, rows, slice, thread);
    workgroupBarrier();
    for (var g = 0u; g < min(SLICE, GROUPS - slice); g++) {
      for (var j = 0u; j < 4u; j++) {
        let at = g * 64u + column + 16u * j;
        let first = weights_low[at];
        let second = weights_high[at];
        let scales = weight_scales[at];
        for (var r = 0u; r < OWN_ROWS; r++) {
          let x_at = g * TILE_ROWS + own_row + r;
          sums[r][j] += group_product(first, second, scales, Quantized(x_low[x_at], x_high[x_at], x_scales[x_at]));
        }
      }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < OWN_ROWS; r++) {
    if (first_row + own_row + r < rows) { store(output_row(first_row + own_row + r), group.x, column, sums[r]); }
  }
}
`;

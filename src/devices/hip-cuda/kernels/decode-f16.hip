// Some rows of a packed matrix as f16 for the BLAS library: the order of halves.h, WEIGHT_SCALE times larger. A thread makes an octet;
// rows are filled up with zeros to whole chunks, as those of activations are. `out` is the place of the matrix's first row.
#include "decode.h"

KERNEL(decode_f16, 256, const u8* weight, i32 rows, i32 row_groups, i32 first_row, i32 row_count, u32x4* out) {
  grid_launch_dependents();
  i64 at = i64(block_x()) * 256 + thread();
  i32 row_chunks = (row_groups + CHUNK_GROUPS - 1) / CHUNK_GROUPS, chunk = i32(at / CHUNK_OCTETS), row = chunk / row_chunks;
  if (row >= row_count) {
    grid_dependency_wait();
    return;
  }
  i32 t = i32(at % CHUNK_OCTETS) >> 2, in_row = (chunk - row * row_chunks) * CHUNK_GROUPS + i32(at & 3);
  row += first_row;
  at += i64(first_row) * row_chunks * CHUNK_OCTETS;
  u32x4 made = {};
  if (in_row < row_groups) {
    i64 groups = tiled_groups(rows, row_groups), group = row_start(row, row_groups) + group_step(in_row);
    PlaneCursor cursor = {const_cast<u8*>(weight)};
    P::Q::Planes quants = P::Q::planes(cursor, groups);
    P::S::Planes scales = P::S::planes(cursor, groups);
    PairedScales paired = paired_scales(P::S::load(scales, group));
    Octet levels = P::loaded_levels(P::Q::load_octet(quants, group, t), t);
    made = scaled_octet(byte_halves<P::OFFSET, P::SIGNED>(levels), paired);
  }
  grid_dependency_wait();
  out[at] = made;
}

// From the file's blocks to the planes of a packed matrix, a thread a group of 32 elements.
#include PACKED_FORMAT

/// `source` holds rows of `row_groups` groups, the first of which is row `first_row` of a part. A packed matrix has `rows` rows, of
/// which `part_rows` are the part's, behind `before` others; further rows of the part are those of the next matrix, `pages` times
/// 256 bytes behind it.
KERNEL(pack_groups, 128, const u8* source, u8* target, i32 rows, i32 row_groups, i32 first_row, i32 row_count, i32 part_rows,
       i32 before, i32 pages) {
  typedef PackedFormat P;
  i64 at = i64(block_x()) * 128 + thread();
  if (at >= i64(row_count) * row_groups) return;
  const u8* block = source + at / P::BLOCK_GROUPS * P::BLOCK_BYTES;
  u32 first = 32 * u32(at % P::BLOCK_GROUPS);
  u32 row = u32(first_row) + u32(at) / u32(row_groups), matrix = row / u32(part_rows), line = u32(before) + row % u32(part_rows);
  i64 index = row_start(line, row_groups) + group_step(u32(at) % u32(row_groups)), groups = tiled_groups(rows, row_groups);
  PlaneCursor cursor = {target + i64(matrix) * pages * 256};
  P::Q::Planes quants = P::Q::planes(cursor, groups);
  P::S::Planes scales = P::S::planes(cursor, groups);
  P::pack_quants(quants, index, block, first);
  P::S::store(scales, index, P::own_scales(block, first), P::shared_scales(block, first));
}

// From the file's blocks to the planes of a packed matrix, a thread a group of 32 elements.
#include PACKED_FORMAT

/// `source` holds rows of `row_groups` groups; the first becomes row `first_row` of the packed matrix of `rows` rows.
KERNEL(pack_groups, 128, const u8* source, u8* target, i32 rows, i32 row_groups, i32 first_row, i32 row_count) {
  typedef PackedFormat P;
  i64 at = i64(block_x()) * 128 + thread();
  if (at >= i64(row_count) * row_groups) return;
  const u8* block = source + at / P::BLOCK_GROUPS * P::BLOCK_BYTES;
  u32 first = 32 * u32(at % P::BLOCK_GROUPS);
  i64 index = i64(first_row) * row_groups + at, groups = i64(rows) * row_groups;
  PlaneCursor cursor = {target};
  P::Q::Planes quants = P::Q::planes(cursor, groups);
  P::S::Planes scales = P::S::planes(cursor, groups);
  P::pack_quants(quants, index, block, first);
  P::S::store(scales, index, P::own_scales(block, first), P::shared_scales(block, first));
}

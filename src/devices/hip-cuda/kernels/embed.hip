#include "file-rows.h"

/// A block decodes the table row of a token; ids outside the table give zeros.
KERNEL(embed_rows, 128, const i32* count, const i32* ids, const u8* table, f32* out, i32 table_rows, i32 columns) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= used) return;
  i32 id = ids[row];
  bool known = id >= 0 && id < table_rows;
  const u8* stored = table + (known ? id : 0) * file_row_bytes(columns);
  for (i32 step = thread(); step < columns / FileFormat::STEP; step += 128) {
    f32 values[FileFormat::STEP];
    decode_step(stored, step, values);
    f32* to = out + i64(row) * columns + step * FileFormat::STEP;
    UNROLL for (i32 i = 0; i < FileFormat::STEP; i++) to[i] = known ? values[i] : 0.0f;
  }
}

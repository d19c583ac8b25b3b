// From the file's bytes to layouts that keep every row's elements in order. `source` may have any alignment.
#include "file-rows.h"

/// Copies bytes.
KERNEL(pack_bytes, 256, const u8* source, u8* target, i32 target_offset_mib, i32 target_offset, i32 count) {
  i32 at = block_x() * 256 + thread();
  if (at < count) target[(i64(target_offset_mib) << 20) + target_offset + at] = source[at];
}

/// Decodes to f32, `count` steps of STEP elements from element `first` of the target on.
KERNEL(pack_floats, 256, const u8* source, f32* target, i32 first, i32 count) {
  i32 step = block_x() * 256 + thread();
  if (step >= count) return;
  f32 values[FileFormat::STEP];
  decode_step(source, step, values);
  UNROLL for (i32 i = 0; i < FileFormat::STEP; i++) target[first + step * FileFormat::STEP + i] = values[i];
}

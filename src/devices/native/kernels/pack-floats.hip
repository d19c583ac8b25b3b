// From the file's blocks to floats, every row's elements in order. `source` may have any alignment.
#include "file-rows.h"

/// Decodes to f32, `count` steps of STEP elements from element `first` of the target on.
KERNEL(pack_floats, 256, const u8* source, f32* target, i32 first, i32 count) {
  i32 step = block_x() * 256 + thread();
  if (step >= count) return;
  f32 values[FileFormat::STEP];
  decode_step(source, step, values);
  UNROLL for (i32 i = 0; i < FileFormat::STEP; i++) target[first + step * FileFormat::STEP + i] = values[i];
}

// From the file's blocks to f32 or f16, every row's elements in order: a thread STEP elements. `source` may have any
// alignment.
#include FILE_FORMAT

constexpr i32 BLOCK_STEPS = FileFormat::ELEMENTS / FileFormat::STEP;

/// A weight may have more elements than an i32 counts.
DEVICE void decode_elements(const u8* source, i64 step, f32* values) {
  FileFormat::decode(source + step / BLOCK_STEPS * FileFormat::BYTES, i32(step % BLOCK_STEPS), values);
}

KERNEL(pack_floats, 256, const u8* source, f32* target, i64 steps) {
  i64 step = i64(block_x()) * 256 + thread();
  if (step >= steps) return;
  f32 values[FileFormat::STEP];
  decode_elements(source, step, values);
  f32* to = target + step * FileFormat::STEP;
  UNROLL for (i32 i = 0; i < FileFormat::STEP; i++) to[i] = values[i];
}

KERNEL(pack_f16, 256, const u8* source, u16* target, i64 steps) {
  i64 step = i64(block_x()) * 256 + thread();
  if (step >= steps) return;
  f32 values[FileFormat::STEP];
  decode_elements(source, step, values);
  u16* to = target + step * FileFormat::STEP;
  UNROLL for (i32 i = 0; i < FileFormat::STEP; i++) to[i] = float_to_half(values[i]);
}

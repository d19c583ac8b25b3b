// Rows of a weight as the file holds them, decoded as they are read. The unit's FILE_FORMAT names the format.
#pragma once
#include FILE_FORMAT

DEVICE i64 file_row_bytes(i32 columns) { return i64(columns / FileFormat::ELEMENTS) * FileFormat::BYTES; }

/// STEP elements of a row from element `STEP * step` on.
DEVICE void decode_step(const u8* row, i32 step, f32* out) {
  constexpr i32 STEPS = FileFormat::ELEMENTS / FileFormat::STEP;
  FileFormat::decode(row + i64(step / STEPS) * FileFormat::BYTES, step % STEPS, out);
}

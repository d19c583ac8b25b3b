// Results of sixteen bits that products read: f16 as halves.h has them, or with ROUNDED numbers in the order in which they stand, f16 or,
// with BFLOATS, bf16. Numbers beyond the range of f16 are the largest.
#pragma once
#include "halves.h"
#include "narrow.h"

DEVICE u16 rounded(f32 value) { return narrowed(BFLOATS ? value : clamp_half(value)); }

/// The first number of a row of so many, and the index of element `i` of a row.
DEVICE i64 result_start(i64 row, i32 width) { return row * (ROUNDED ? width : padded_width(width)); }
DEVICE i32 result_index(i32 i) { return ROUNDED ? i : half_index(i); }

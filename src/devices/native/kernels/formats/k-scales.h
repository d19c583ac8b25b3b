// The 6-bit scales and mins of 8 groups in the 12 bytes that Q4_K and Q5_K share.
#pragma once
#include "prelude.h"

DEVICE u32 scale_k(const u8* at, i32 group) {
  return group < 4 ? at[group] & 63 : (at[group + 4] & 15) | ((at[group - 4] >> 6) << 4);
}
DEVICE u32 min_k(const u8* at, i32 group) {
  return group < 4 ? at[group + 4] & 63 : (at[group + 4] >> 4) | ((at[group] >> 6) << 4);
}

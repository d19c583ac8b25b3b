// Where an expert's matrix is, for kernels with HOT: `slots` has for each expert the number of its copy in the device's memory, or
// a negative one, with which it stands in the weight itself, usually in the host's memory. A matrix takes `pages` times PAGE_BYTES.
// An address is looked up in every launch, so that the host may change the table between two steps.
#pragma once
#include "prelude.h"

#define PAGE_BYTES 256

#ifdef HOT
#define HOT_PARAMETERS const i32 *slots, const u8 *copies, i32 pages,
#else
#define HOT_PARAMETERS
#endif

DEVICE const u8* matrix_of(i32 expert, const u8* weight, const i32* slots, const u8* copies, i32 pages) {
  i32 slot = slots[expert];
  return slot < 0 ? weight + i64(expert) * pages * PAGE_BYTES : copies + i64(slot) * pages * PAGE_BYTES;
}

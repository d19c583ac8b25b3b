// Operators over a tensor's elements, one after another: a thread an element.
//
//   PARAMETERS  the parameters of what the operators read beside the tensor
//   CHAIN       what becomes of `value`, element `n` of a row, which stands at `at`
#include "activation.h"

#define ELEMENTS_PER_BLOCK 256

KERNEL(element_chain, ELEMENTS_PER_BLOCK, const i32* count, const f32* x, f32* y, i32 width PARAMETERS) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * ELEMENTS_PER_BLOCK + thread();
  if (at >= i64(used) * width) return;
  [[maybe_unused]] i32 n = i32(at % width);
  f32 value = x[at];
  y[at] = CHAIN;
}

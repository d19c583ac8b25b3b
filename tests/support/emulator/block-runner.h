// Runs a kernel's blocks one after the other, their threads as fibers of the calling thread.
#pragma once
#include <functional>
#include <string>

#include "gpu-block.h"

namespace emulator {

struct LaunchShape {
  Dim grid, block;
  uint32_t sharedBytes;
  uint32_t waveSize;
};

// Returns what went wrong, or an empty text: a fault (an address that no live allocation holds), a deadlock of diverging
// threads, a failed check of a builtin. A failed launch leaves the rest of its blocks out.
std::string runKernel(const Module& module, const Kernel& kernel, const LaunchShape& shape, void** arguments);

// Runs `work` and returns true when it touched memory that it may not touch.
bool faults(const std::function<void()>& work);

}  // namespace emulator

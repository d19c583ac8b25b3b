// The GPUs that the emulator can be: chosen by the environment variable EMULATOR_TARGET.
#pragma once
#include <cstdint>
#include <string>

namespace emulator {

struct Target {
  const char* name;     // as hipDeviceProp_t::gcnArchName gives it
  const char* macro;    // what clang defines for it
  uint32_t waveSize;
  int multiprocessors;  // a card's, or few, so that kernels' choices for either run
};

// The target of this name, features behind a colon left out of the comparison; null for an unknown one.
const Target* findTarget(const std::string& name);
// The target that this process emulates.
const Target& currentTarget();

}  // namespace emulator

// What the emulated hipRTC hands out and hipModuleLoadData takes: a header and a shared library of this machine.
#pragma once
#include <cstdint>

namespace emulator {

constexpr char kCodeMagic[8] = {'E', 'M', 'U', 'C', 'O', 'D', 'E', '1'};

struct CodeHeader {
  char magic[8];
  char target[32];
  uint64_t libraryBytes;
};

}  // namespace emulator

// What a compiled kernel and the emulator's scheduler agree on.
#pragma once
#include <cstddef>
#include <cstdint>

namespace emulator {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kSlotBytes = 64;

struct Dim {
  uint32_t x, y, z;
};

// The block that runs now, as its threads see it.
struct Block {
  uint32_t thread;  // linear index of the running thread
  uint32_t waveSize;
  Dim size, grid, index;
  Dim threads[kMaxThreads];     // threadIdx of every linear index
  uint32_t exchanges[kMaxThreads];  // how many the thread has taken part in
  // What lanes hand each other, and in which exchange. Two halves, used in turn: a lane can only reach its exchange after
  // next when all lanes of its wave have read the last one.
  uint32_t stamps[2][kMaxThreads];
  alignas(64) uint8_t slots[2][kMaxThreads][kSlotBytes];
  void* dynamicShared;
  void (*barrier)(Block&);                    // all live threads of the block
  void (*waveBarrier)(Block&);                // all live lanes of the wave
  void (*pause)(Block&);                      // a thread that polls: lets others of the block, and other cards, go on
  void (*fail)(Block&, const char* message);  // ends the launch; does not return
};

struct KernelArgument {
  uint32_t size;
  bool pointer;
};

// A kernel's entry in its module, under the symbol `emulated_kernel_NAME`.
struct Kernel {
  void (*invoke)(void** arguments);
  uint32_t maxThreads;
  uint32_t argumentCount;
  const KernelArgument* arguments;
};

// A module's own state, under the symbol `emulated_module`.
struct Module {
  Block** block;
  uint8_t* sharedBegin;  // all its static shared variables
  uint8_t* sharedEnd;
};

}  // namespace emulator

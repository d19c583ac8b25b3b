// Cooperative threads of execution: a stack each, switched by hand because `swapcontext` makes a system call.
#pragma once

extern "C" void emulator_switch_fiber(void** saveStack, void* toStack);

namespace emulator {

// The saved stack pointer of a fiber that will start in `entry`, which must never return.
void* newFiber(char* stackTop, void (*entry)());

}  // namespace emulator

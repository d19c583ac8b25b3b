#include "fiber.h"

#include <cstring>

#if defined(__x86_64__)

// Saves what the System V ABI lets a function expect back, then continues where the other fiber did the same.
asm(R"(
  .text
  .globl emulator_switch_fiber
  .type emulator_switch_fiber, @function
emulator_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

void* emulator::newFiber(char* stackTop, void (*entry)()) {
  void** stack = reinterpret_cast<void**>(stackTop);
  *--stack = nullptr;  // the return address of `entry`, which keeps the stack aligned as after a call
  *--stack = reinterpret_cast<void*>(entry);
  for (int saved = 0; saved < 6; saved++) *--stack = nullptr;
  return stack;
}

#elif defined(__aarch64__)

asm(R"(
  .text
  .globl emulator_switch_fiber
  .type emulator_switch_fiber, %function
emulator_switch_fiber:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");

void* emulator::newFiber(char* stackTop, void (*entry)()) {
  constexpr int kSaved = 20, kLinkRegister = 11;
  void** stack = reinterpret_cast<void**>(stackTop) - kSaved;
  memset(stack, 0, kSaved * sizeof(void*));
  stack[kLinkRegister] = reinterpret_cast<void*>(entry);
  return stack;
}

#else
#error "the emulator switches fibers on x86-64 and AArch64 only"
#endif

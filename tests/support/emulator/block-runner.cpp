#include "block-runner.h"

#include <sys/mman.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "card.h"
#include "fiber.h"

namespace emulator {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kPageBytes = 4 << 10;
constexpr size_t kDynamicSharedBytes = 160 << 10;
constexpr uint32_t kMaxWaves = kMaxThreads / 32;

// ---- faults ---------------------------------------------------------------------------------------------------------

thread_local sigjmp_buf* faultTarget = nullptr;
struct sigaction previousHandlers[2];

void onFault(int signal, siginfo_t* info, void* context) {
  if (faultTarget) siglongjmp(*faultTarget, 1);
  // Not ours: Node's own handler turns some of these into WebAssembly traps.
  const struct sigaction& previous = previousHandlers[signal == SIGBUS];
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  sigaction(signal, &previous, nullptr);
}

void installFaultHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previousHandlers[0]);
    sigaction(SIGBUS, &action, &previousHandlers[1]);
  });
}

// ---- fibers of one block --------------------------------------------------------------------------------------------

struct Wave {
  uint64_t runnable, live, atBarrier, atWaveBarrier;
};

struct Runner {
  Block block{};
  Wave waves[kMaxWaves];
  uint32_t waveCount = 0, live = 0, atBarrier = 0, created = 0, pauses = 0;
  bool descending = false;  // later threads first: every other block, so that a missing barrier shows
  char* stacks;
  void* stackOf[kMaxThreads];
  void* scheduler = nullptr;
  const Kernel* kernel = nullptr;
  void** arguments = nullptr;
  const char* error = nullptr;
  std::unique_ptr<char[]> signalStack{new char[64 << 10]};
  std::unique_ptr<uint8_t[]> dynamicShared{new uint8_t[kDynamicSharedBytes]};

  Runner() {
    stacks = static_cast<char*>(mmap(nullptr, kMaxThreads * kStackBytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED) abort();
    stack_t alternative{};
    alternative.ss_sp = signalStack.get();
    alternative.ss_size = 64 << 10;
    sigaltstack(&alternative, nullptr);
  }
  ~Runner() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(stacks, kMaxThreads * kStackBytes);
  }
};

thread_local Runner* runner = nullptr;

uint32_t nextInWave(const Runner& r, uint32_t wave, uint32_t after) {
  const uint64_t runnable = r.waves[wave].runnable;
  const uint32_t lane = after % r.block.waveSize;
  const uint64_t below = (1ull << lane) - 1, above = lane == 63 ? 0 : ~((2ull << lane) - 1);
  const uint64_t first = runnable & (r.descending ? below : above);
  const uint64_t from = first ? first : runnable;
  const uint32_t found = r.descending ? 63 - __builtin_clzll(from) : __builtin_ctzll(from);
  return wave * r.block.waveSize + found;
}

// Continues another thread of the block, or the scheduler when none can run.
void switchAway(Runner& r, uint32_t self) {
  const uint32_t own = self / r.block.waveSize;
  for (uint32_t step = 0; step < r.waveCount; step++) {
    const uint32_t wave = (own + (r.descending ? r.waveCount - step : step)) % r.waveCount;
    if (!r.waves[wave].runnable) continue;
    const uint32_t next = nextInWave(r, wave, self);
    if (next == self) return;
    r.block.thread = next;
    emulator_switch_fiber(&r.stackOf[self], r.stackOf[next]);
    return;
  }
  if (r.live > 0) r.error = "threads of one block wait at different barriers or shuffles";
  emulator_switch_fiber(&r.stackOf[self], r.scheduler);
}

void releaseBlock(Runner& r) {
  if (r.live == 0 || r.atBarrier != r.live) return;
  r.atBarrier = 0;
  for (uint32_t wave = 0; wave < r.waveCount; wave++) {
    r.waves[wave].runnable |= r.waves[wave].atBarrier;
    r.waves[wave].atBarrier = 0;
  }
}

void releaseWave(Wave& wave) {
  if (wave.live == 0 || wave.atWaveBarrier != wave.live) return;
  wave.runnable |= wave.atWaveBarrier;
  wave.atWaveBarrier = 0;
}

void barrier(Block& block) {
  Runner& r = *runner;
  const uint32_t self = block.thread;
  Wave& wave = r.waves[self / block.waveSize];
  const uint64_t bit = 1ull << (self % block.waveSize);
  wave.runnable &= ~bit;
  wave.atBarrier |= bit;
  r.atBarrier++;
  releaseBlock(r);
  switchAway(r, self);
}

void waveBarrier(Block& block) {
  Runner& r = *runner;
  const uint32_t self = block.thread;
  Wave& wave = r.waves[self / block.waveSize];
  const uint64_t bit = 1ull << (self % block.waveSize);
  wave.runnable &= ~bit;
  wave.atWaveBarrier |= bit;
  releaseWave(wave);
  switchAway(r, self);
}

// All threads that can run do so in turn, and poll once, before the other cards have theirs.
void pause(Block& block) {
  Runner& r = *runner;
  const uint32_t self = block.thread, own = self / block.waveSize;
  if (++r.pauses >= r.live) {
    r.pauses = 0;
    Turn::pass();
  }
  const uint32_t lane = self % block.waveSize;
  const uint64_t above = lane == 63 ? 0 : ~((2ull << lane) - 1);
  uint64_t runnable = r.waves[own].runnable & above;
  uint32_t wave = own;
  while (!runnable) {
    wave = (wave + 1) % r.waveCount;
    runnable = r.waves[wave].runnable;
  }
  const uint32_t next = wave * block.waveSize + __builtin_ctzll(runnable);
  if (next == self) return;
  block.thread = next;
  emulator_switch_fiber(&r.stackOf[self], r.stackOf[next]);
}

void fail(Block& block, const char* message) {
  Runner& r = *runner;
  r.error = message;
  emulator_switch_fiber(&r.stackOf[block.thread], r.scheduler);
}

// A fiber runs one thread of a block after the other, for ever.
void fiberMain() {
  for (;;) {
    Runner& r = *runner;
    r.kernel->invoke(r.arguments);
    const uint32_t self = r.block.thread;
    Wave& wave = r.waves[self / r.block.waveSize];
    const uint64_t bit = 1ull << (self % r.block.waveSize);
    wave.runnable &= ~bit;
    wave.live &= ~bit;
    r.live--;
    releaseWave(wave);
    releaseBlock(r);
    switchAway(r, self);
  }
}

void createFibers(Runner& r, uint32_t count) {
  for (; r.created < count; r.created++) {
    char* bottom = r.stacks + r.created * kStackBytes;
    mprotect(bottom, kPageBytes, PROT_NONE);
    r.stackOf[r.created] = newFiber(bottom + kStackBytes, fiberMain);
  }
}

void runBlock(Runner& r, const LaunchShape& shape) {
  const uint32_t threads = shape.block.x * shape.block.y * shape.block.z;
  createFibers(r, threads);
  r.waveCount = (threads + shape.waveSize - 1) / shape.waveSize;
  r.live = threads;
  r.atBarrier = 0;
  for (uint32_t wave = 0; wave < r.waveCount; wave++) {
    const uint32_t lanes = std::min(shape.waveSize, threads - wave * shape.waveSize);
    const uint64_t all = lanes == 64 ? ~0ull : (1ull << lanes) - 1;
    r.waves[wave] = {all, all, 0, 0};
  }
  memset(r.block.exchanges, 0, sizeof r.block.exchanges);
  memset(r.block.stamps, 0, sizeof r.block.stamps);
  r.block.thread = r.descending ? threads - 1 : 0;
  emulator_switch_fiber(&r.scheduler, r.stackOf[r.block.thread]);
}

void prepare(Runner& r, const LaunchShape& shape) {
  r.block.waveSize = shape.waveSize;
  r.block.size = shape.block;
  r.block.grid = shape.grid;
  r.block.barrier = barrier;
  r.block.waveBarrier = waveBarrier;
  r.block.pause = pause;
  r.block.fail = fail;
  r.block.dynamicShared = r.dynamicShared.get();
  uint32_t thread = 0;
  for (uint32_t z = 0; z < shape.block.z; z++)
    for (uint32_t y = 0; y < shape.block.y; y++)
      for (uint32_t x = 0; x < shape.block.x; x++) r.block.threads[thread++] = {x, y, z};
}

void runBlocks(Runner& r, const Module& module, const LaunchShape& shape) {
  *module.block = &r.block;
  for (uint32_t z = 0; z < shape.grid.z; z++)
    for (uint32_t y = 0; y < shape.grid.y; y++)
      for (uint32_t x = 0; x < shape.grid.x && !r.error; x++) {
        r.block.index = {x, y, z};
        r.descending = (x + y + z) % 2 == 1;
        // Not a number: shared memory that is read before it is written shows in the result.
        memset(module.sharedBegin, 0xff, module.sharedEnd - module.sharedBegin);
        memset(r.dynamicShared.get(), 0xff, shape.sharedBytes);
        runBlock(r, shape);
      }
}

}  // namespace

bool faults(const std::function<void()>& work) {
  installFaultHandlers();
  sigjmp_buf target;
  sigjmp_buf* const outer = faultTarget;
  const bool faulted = sigsetjmp(target, 1) != 0;
  if (!faulted) {
    faultTarget = &target;
    work();
  }
  faultTarget = outer;
  return faulted;
}

std::string runKernel(const Module& module, const Kernel& kernel, const LaunchShape& shape, void** arguments) {
  static thread_local std::unique_ptr<Runner> own;
  if (!own) own = std::make_unique<Runner>();
  Runner& r = *(runner = own.get());
  r.kernel = &kernel;
  r.arguments = arguments;
  r.error = nullptr;
  prepare(r, shape);
  if (faults([&] { runBlocks(r, module, shape); })) r.error = "an address outside every live device allocation";
  if (!r.error) return {};
  r.created = 0;  // fibers stopped in the middle of a kernel do not serve again
  return r.error;
}

}  // namespace emulator

// What the calls of the emulated driver share.
#pragma once
#include "block-runner.h"
#include "driver-state.h"
#include "stream.h"

#define EXPORTED __attribute__((visibility("default")))
#define HIP_CALL extern "C" EXPORTED int

namespace emulator {

constexpr int kSharedBytes = 64 << 10;

// A call that hipStreamBeginCapture forbids while a capture runs: fails then, else as `enter`.
Status unsafeCall(const char* call);

// A call on a stream of the current card. The null stream and the per-thread default streams (1, 2) fail, as destroyed streams do: rocmforge
// never touches them.
Status streamCall(const char* call, void* stream);

// Queues work on a stream that `streamCall` accepted; it is left out once its card is lost.
void submit(void* stream, Work work);

// Whether a range is memory of hipHostMalloc, which kernels reach at the same address if it was asked for as mapped.
bool isMapped(const void* address, size_t bytes);

// Waits for all streams of a card, as releasing memory does.
void synchronizeAll(Card& card);

}  // namespace emulator

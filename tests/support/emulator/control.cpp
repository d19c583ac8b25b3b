// What tests ask of the emulator beside the driver's calls.
#include <cstdio>
#include <cstring>

#include "hip-checks.h"

using namespace emulator;

// The `nth` coming call of that name gives `status`; the name `kernel` stands for the execution of a launch.
extern "C" EXPORTED void emulatorFailCall(const char* call, int nth, int status) {
  state().failCall(call, nth, static_cast<Status>(status));
}

extern "C" EXPORTED int emulatorCalls(const char* call) { return state().calls(call); }

extern "C" EXPORTED void emulatorSetMemory(size_t bytes) {
  for (int i = 0; i < cardCount(); i++) cardAt(i).memory.setLimit(bytes);
}

extern "C" EXPORTED void emulatorRefuseInnerReads() { state().refusesInnerReads = true; }

extern "C" EXPORTED void emulatorLose(int device, int status) {
  cardAt(device).lose(static_cast<Status>(status), "a test lost the device");
}

// The device has no access to the peer's memory.
extern "C" EXPORTED void emulatorDenyPeer(int device, int peer) { state().deny(device, peer); }

// Whether the device has access to the peer's memory now.
extern "C" EXPORTED int emulatorReaches(int device, int peer) { return cardAt(device).reaches(peer); }

// What the emulated libraries need of the driver: work on a stream, with a copy of its arguments for every time that it is run. `ended`
// is told once that is never again: of work that is captured, when the last graph with it is destroyed.
extern "C" EXPORTED int emulatorSubmit(const char* call, void* stream, void (*work)(const void*), const void* arguments,
                                       size_t bytes, void (*ended)(const void*)) {
  if (const Status failed = streamCall(call, stream)) return failed;
  const auto* const from = static_cast<const char*>(arguments);
  const std::shared_ptr<std::vector<char>> copy(new std::vector<char>(from, from + bytes), [ended](std::vector<char>* last) {
    if (ended) ended(last->data());
    delete last;
  });
  submit(stream, [work, copy] {
    const Turn turn(card());
    work(copy->data());
  });
  return kSuccess;
}

// What the emulated RCCL needs besides: a call is counted, and fails if a test asked for that; work lets the other cards go on while it
// waits for them.
extern "C" EXPORTED int emulatorEnter(const char* call) { return state().enterAny(call); }
extern "C" EXPORTED void emulatorPass() { Turn::pass(); }
extern "C" EXPORTED int emulatorCard() { return card().ordinal; }
extern "C" EXPORTED void emulatorUse(int ordinal) { useCard(ordinal); }
extern "C" EXPORTED int emulatorLost() { return card().lost(); }

extern "C" EXPORTED int emulatorHolds(const void* address, size_t bytes) { return card().memory.holds(address, bytes); }

// Waits for all streams and forgets errors, requests and counts.
extern "C" EXPORTED void emulatorReset() {
  for (int i = 0; i < cardCount(); i++) synchronizeAll(cardAt(i));
  for (int i = 0; i < cardCount(); i++) cardAt(i).recover();
  state().reset();
}

// Objects alive: buffers, pinned allocations, streams, events, modules, graphs and their executables.
extern "C" EXPORTED int emulatorLive(const char* kind) {
  if (!strcmp(kind, "buffers")) {
    size_t buffers = 0;
    for (int i = 0; i < cardCount(); i++) buffers += cardAt(i).memory.count();
    return static_cast<int>(buffers);
  }
  const struct {
    const char* name;
    Kind kind;
  } kinds[] = {{"streams", Kind::stream}, {"events", Kind::event},           {"modules", Kind::module},
               {"graphs", Kind::graph},   {"executables", Kind::executable}, {"pinned", Kind::pinned}};
  for (const auto& known : kinds)
    if (!strcmp(kind, known.name)) return static_cast<int>(state().count(known.kind));
  return -1;
}

// Why a device was lost, or an empty text.
extern "C" EXPORTED const char* emulatorWhy(int device) {
  static thread_local std::string why;
  why = cardAt(device).why();
  return why.c_str();
}

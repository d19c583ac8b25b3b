// Streams, events and graphs of the emulated libamdhip64.
#include <algorithm>

#include "hip-checks.h"

using namespace emulator;

namespace {

std::mutex streamsMutex;
std::vector<Stream*>& streams() {
  static auto* const all = new std::vector<Stream*>;
  return *all;
}

Stream& streamOf(void* handle) { return *static_cast<Stream*>(handle); }
Event& eventOf(void* handle) { return *static_cast<Event*>(handle); }

Status eventCall(const char* call, void* event) {
  if (const Status failed = state().enter(call)) return failed;
  return state().alive(Kind::event, event) ? kSuccess : kInvalidHandle;
}

}  // namespace

namespace emulator {

Status unsafeCall(const char* call) {
  const Status failed = state().enter(call);
  return failed ? failed : captureForbidsUnsafeCalls() ? kStreamCaptureUnsupported : kSuccess;
}

Status streamCall(const char* call, void* stream) {
  if (const Status failed = state().enter(call)) return failed;
  return state().alive(Kind::stream, stream) && &streamOf(stream).card() == &card() ? kSuccess : kInvalidHandle;
}

void submit(void* stream, Work work) {
  streamOf(stream).submit([work = std::move(work)] {
    if (card().lost() == kSuccess) work();
  });
}

void synchronizeAll(Card& card) {
  std::vector<Stream*> all;
  {
    std::lock_guard lock(streamsMutex);
    all = streams();
  }
  for (Stream* stream : all)
    if (&stream->card() == &card) stream->synchronize();
}

}  // namespace emulator

HIP_CALL hipStreamCreateWithFlags(void** stream, unsigned flags) {
  if (const Status failed = state().enter("hipStreamCreateWithFlags")) return failed;
  constexpr unsigned kNonBlocking = 1;
  if (flags != kNonBlocking) return kInvalidValue;  // a blocking stream waits for the null stream
  auto* const created = new Stream;
  std::lock_guard lock(streamsMutex);
  streams().push_back(created);
  state().add(Kind::stream, created);
  *stream = created;
  return kSuccess;
}

HIP_CALL hipStreamDestroy(void* stream) {
  const Status failed = state().enter("hipStreamDestroy");
  if (!state().remove(Kind::stream, stream)) return kInvalidHandle;
  {
    std::lock_guard lock(streamsMutex);
    auto& all = streams();
    all.erase(std::find(all.begin(), all.end(), stream));
  }
  delete &streamOf(stream);
  return failed;
}

HIP_CALL hipStreamQuery(void* stream) {
  if (const Status failed = streamCall("hipStreamQuery", stream)) return failed;
  if (streamOf(stream).capturing()) return kStreamCaptureUnsupported;
  return streamOf(stream).idle() ? kSuccess : kNotReady;
}

HIP_CALL hipStreamSynchronize(void* stream) {
  if (const Status failed = streamCall("hipStreamSynchronize", stream)) return failed;
  if (streamOf(stream).capturing()) return kStreamCaptureUnsupported;
  streamOf(stream).synchronize();
  return card().lost();
}

HIP_CALL hipStreamWaitEvent(void* stream, void* event, unsigned) {
  if (const Status failed = streamCall("hipStreamWaitEvent", stream)) return failed;
  if (!state().alive(Kind::event, event)) return kInvalidHandle;
  if (streamOf(stream).capturing()) return kStreamCaptureUnsupported;
  const auto awaited = eventOf(event).state;
  const uint64_t number = awaited->announced();
  streamOf(stream).submit([=] { awaited->await(number); });
  return kSuccess;
}

// ---- events ---------------------------------------------------------------------------------------------------------

HIP_CALL hipEventCreateWithFlags(void** event, unsigned flags) {
  if (const Status failed = state().enter("hipEventCreateWithFlags")) return failed;
  constexpr unsigned kDisableTiming = 2;
  auto* const created = new Event;
  created->timed = (flags & kDisableTiming) == 0;
  state().add(Kind::event, created);
  *event = created;
  return kSuccess;
}

HIP_CALL hipEventDestroy(void* event) {
  const Status failed = state().enter("hipEventDestroy");
  if (!state().remove(Kind::event, event)) return kInvalidHandle;
  delete &eventOf(event);
  return failed;
}

HIP_CALL hipEventRecord(void* event, void* stream) {
  if (const Status failed = streamCall("hipEventRecord", stream)) return failed;
  if (!state().alive(Kind::event, event) || &eventOf(event).card != &card()) return kInvalidHandle;
  if (streamOf(stream).capturing()) return kStreamCaptureUnsupported;
  const auto recorded = eventOf(event).state;
  const uint64_t number = recorded->announce();
  // Reached even on a lost device: what waits for it must not hang.
  streamOf(stream).submit([=] { recorded->reach(number); });
  return kSuccess;
}

HIP_CALL hipEventQuery(void* event) {
  if (const Status failed = eventCall("hipEventQuery", event)) return failed;
  if (captureForbidsUnsafeCalls()) return kStreamCaptureUnsupported;
  if (!eventOf(event).state->reached()) return kNotReady;
  return card().lost();
}

HIP_CALL hipEventSynchronize(void* event) {
  if (const Status failed = eventCall("hipEventSynchronize", event)) return failed;
  if (captureForbidsUnsafeCalls()) return kStreamCaptureUnsupported;
  EventState& awaited = *eventOf(event).state;
  awaited.await(awaited.announced());
  return card().lost();
}

HIP_CALL hipEventElapsedTime(float* milliseconds, void* from, void* to) {
  if (const Status failed = eventCall("hipEventElapsedTime", from)) return failed;
  if (!state().alive(Kind::event, to) || !eventOf(from).timed || !eventOf(to).timed) return kInvalidHandle;
  EventState &first = *eventOf(from).state, &second = *eventOf(to).state;
  if (first.announced() == 0 || second.announced() == 0) return kInvalidHandle;
  if (!first.reached() || !second.reached()) return kNotReady;
  *milliseconds = static_cast<float>(second.time() - first.time());
  return kSuccess;
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

HIP_CALL hipStreamBeginCapture(void* stream, int mode) {
  if (const Status failed = streamCall("hipStreamBeginCapture", stream)) return failed;
  if (mode < 0 || mode > 2) return kInvalidValue;
  return streamOf(stream).beginCapture(mode) ? kSuccess : kStreamCaptureUnsupported;
}

HIP_CALL hipStreamEndCapture(void* stream, void** graph) {
  *graph = nullptr;
  const Status failed = state().enter("hipStreamEndCapture");
  if (!state().alive(Kind::stream, stream)) return kInvalidHandle;
  Graph* const captured = streamOf(stream).endCapture();
  if (!captured) return failed ? failed : kStreamCaptureUnmatched;
  if (failed) {
    delete captured;
    return failed;
  }
  state().add(Kind::graph, captured);
  *graph = captured;
  return kSuccess;
}

HIP_CALL hipGraphInstantiate(void** executable, void* graph, void*, char*, size_t) {
  if (const Status failed = state().enter("hipGraphInstantiate")) return failed;
  if (!state().alive(Kind::graph, graph)) return kInvalidHandle;
  auto* const created = new std::shared_ptr<Graph>(std::make_shared<Graph>(*static_cast<Graph*>(graph)));
  state().add(Kind::executable, created);
  *executable = created;
  return kSuccess;
}

HIP_CALL hipGraphLaunch(void* executable, void* stream) {
  if (const Status failed = streamCall("hipGraphLaunch", stream)) return failed;
  if (!state().alive(Kind::executable, executable)) return kInvalidHandle;
  const auto graph = *static_cast<std::shared_ptr<Graph>*>(executable);
  if (&graph->card != &card()) return kInvalidHandle;
  streamOf(stream).submit([graph] {
    for (const Work& work : graph->work) work();
  });
  return kSuccess;
}

HIP_CALL hipGraphDestroy(void* graph) {
  const Status failed = state().enter("hipGraphDestroy");
  if (!state().remove(Kind::graph, graph)) return kInvalidHandle;
  delete static_cast<Graph*>(graph);
  return failed;
}

HIP_CALL hipGraphExecDestroy(void* executable) {
  const Status failed = state().enter("hipGraphExecDestroy");
  if (!state().remove(Kind::executable, executable)) return kInvalidHandle;
  delete static_cast<std::shared_ptr<Graph>*>(executable);
  return failed;
}

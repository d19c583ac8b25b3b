#include "stream.h"

#include <atomic>

namespace emulator {
namespace {

// hipStreamCaptureMode: global 0, thread-local 1, relaxed 2.
std::atomic<int> globalCaptures{0};
thread_local int threadCaptures = 0;

double now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

uint64_t EventState::announce() {
  std::lock_guard lock(mutex_);
  return ++announced_;
}
void EventState::reach(uint64_t number) {
  std::lock_guard lock(mutex_);
  reached_ = number;
  milliseconds_ = now();
  changed_.notify_all();
}
uint64_t EventState::announced() {
  std::lock_guard lock(mutex_);
  return announced_;
}
bool EventState::reached() {
  std::lock_guard lock(mutex_);
  return reached_ >= announced_;
}
void EventState::await(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= number; });
}
double EventState::time() {
  std::lock_guard lock(mutex_);
  return milliseconds_;
}

Stream::Stream() : card_(emulator::card()), thread_([this] { run(); }) {}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Stream::run() {
  useCard(card_.ordinal);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Stream::submit(Work work) {
  if (capture_) {
    capture_->work.push_back(std::move(work));
    return;
  }
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
}

bool Stream::idle() {
  std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

bool Stream::beginCapture(int mode) {
  if (capture_) return false;
  capture_ = std::unique_ptr<Graph>(new Graph{card_, {}});
  captureMode_ = mode;
  if (mode == 0) globalCaptures++;
  if (mode == 1) threadCaptures++;
  return true;
}

Graph* Stream::endCapture() {
  if (!capture_) return nullptr;
  if (captureMode_ == 0) globalCaptures--;
  if (captureMode_ == 1) threadCaptures--;
  return capture_.release();
}

bool captureForbidsUnsafeCalls() { return globalCaptures > 0 || threadCaptures > 0; }

}  // namespace emulator

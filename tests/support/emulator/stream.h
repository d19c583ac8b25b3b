// A stream is a thread that works off a queue; an event is a point in it; a graph is a list of its work.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "card.h"

namespace emulator {

using Work = std::function<void()>;

class EventState {
 public:
  // Announces a recording and returns its number; the recording is reached when `reach` is called with it.
  uint64_t announce();
  void reach(uint64_t number);
  uint64_t announced();
  bool reached();
  void await(uint64_t number);
  // Milliseconds on the steady clock when it was last reached.
  double time();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t announced_ = 0, reached_ = 0;
  double milliseconds_ = 0;
};

struct Event {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
  Card& card = emulator::card();
  bool timed = false;
};

struct Graph {
  Card& card;
  std::vector<Work> work;
};

class Stream {
 public:
  Stream();  // of the current card
  ~Stream();  // works off what is queued
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Card& card() const { return card_; }

  // Queues work, or adds it to the graph while capturing.
  void submit(Work work);
  bool idle();
  void synchronize();

  bool beginCapture(int mode);
  Graph* endCapture();  // null when not capturing
  bool capturing() const { return capture_ != nullptr; }

 private:
  void run();
  Card& card_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool busy_ = false, ending_ = false;
  std::unique_ptr<Graph> capture_;
  int captureMode_ = 0;
  std::thread thread_;
};

// True while a capture forbids this thread calls that are not stream work (allocation, synchronization).
bool captureForbidsUnsafeCalls();

}  // namespace emulator

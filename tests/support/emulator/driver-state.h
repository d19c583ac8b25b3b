// What the emulated driver remembers between calls: live objects, failures on request.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "card.h"
#include "status.h"

namespace emulator {

enum class Kind { stream, event, module, graph, executable, pinned };

class DriverState {
 public:
  // What every call does first: counts it, fails it when a test asked for that, or when the current card is lost.
  Status enter(const char* call);
  // The same for a call that needs no current card.
  Status enterAny(const char* call);
  // The `nth` coming call of that name (1 is the next) gives `status`.
  void failCall(const std::string& call, int nth, Status status);
  int calls(const std::string& call);

  void add(Kind kind, void* object);
  // False for an object that is not alive.
  bool remove(Kind kind, void* object);
  bool alive(Kind kind, void* object);
  size_t count(Kind kind);

  // No access between two cards, in this direction.
  void deny(int device, int peer);
  bool denied(int device, int peer);
  // Whether copies to the host that begin within an allocation fail, as with some drivers.
  std::atomic<bool> refusesInnerReads{false};
  // Forgets the requests and the counts, not the objects.
  void reset();

 private:
  struct Request {
    int countdown;
    Status status;
  };
  std::mutex mutex_;
  std::multimap<std::string, Request> requests_;
  std::map<std::string, int> calls_;
  std::map<Kind, std::set<void*>> objects_;
  std::set<std::pair<int, int>> denied_;
};

// Never destroyed: stream threads may outlive the program's static objects.
DriverState& state();

}  // namespace emulator

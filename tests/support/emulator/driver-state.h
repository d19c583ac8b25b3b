// What one emulated device remembers between calls: live objects, failures on request, the error that it never recovers from.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "device-memory.h"
#include "status.h"

namespace emulator {

enum class Kind { stream, event, module, graph, executable, pinned };

class DriverState {
 public:
  DeviceMemory memory;

  // What every call does first: counts it, fails it when a test asked for that, or when the device is lost.
  Status enter(const char* call);
  // The `nth` coming call of that name (1 is the next) gives `status`.
  void failCall(const std::string& call, int nth, Status status);
  int calls(const std::string& call);

  void add(Kind kind, void* object);
  // False for an object that is not alive.
  bool remove(Kind kind, void* object);
  bool alive(Kind kind, void* object);
  size_t count(Kind kind);

  // An error after which every call fails, as after a kernel's fault; `why` is for the test's eyes.
  void lose(Status status, const std::string& why);
  Status lost() const { return lost_; }
  std::string why();
  // Whether copies to the host that begin within an allocation fail, as with some drivers.
  std::atomic<bool> refusesInnerReads{false};
  // Forgets the error, the requests and the counts, not the objects.
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
  std::atomic<Status> lost_{kSuccess};
  std::string why_;
};

// Never destroyed: stream threads may outlive the program's static objects.
DriverState& state();

}  // namespace emulator

#include "driver-state.h"

namespace emulator {

Status DriverState::enter(const char* call) {
  const Status asked = enterAny(call);
  return asked != kSuccess ? asked : card().lost();
}

Status DriverState::enterAny(const char* call) {
  std::lock_guard lock(mutex_);
  calls_[call]++;
  const auto [first, last] = requests_.equal_range(call);
  Status asked = kSuccess;
  for (auto request = first; request != last;) {
    if (--request->second.countdown > 0) {
      ++request;
      continue;
    }
    asked = request->second.status;
    request = requests_.erase(request);
  }
  return asked;
}

void DriverState::failCall(const std::string& call, int nth, Status status) {
  std::lock_guard lock(mutex_);
  requests_.insert({call, {nth, status}});
}

int DriverState::calls(const std::string& call) {
  std::lock_guard lock(mutex_);
  return calls_[call];
}

void DriverState::add(Kind kind, void* object) {
  std::lock_guard lock(mutex_);
  objects_[kind].insert(object);
}

bool DriverState::remove(Kind kind, void* object) {
  std::lock_guard lock(mutex_);
  return objects_[kind].erase(object) == 1;
}

bool DriverState::alive(Kind kind, void* object) {
  std::lock_guard lock(mutex_);
  return objects_[kind].count(object) == 1;
}

size_t DriverState::count(Kind kind) {
  std::lock_guard lock(mutex_);
  return objects_[kind].size();
}

void DriverState::deny(int device, int peer) {
  std::lock_guard lock(mutex_);
  denied_.insert({device, peer});
}

bool DriverState::denied(int device, int peer) {
  std::lock_guard lock(mutex_);
  return denied_.count({device, peer}) == 1;
}

void DriverState::reset() {
  std::lock_guard lock(mutex_);
  requests_.clear();
  calls_.clear();
  denied_.clear();
  refusesInnerReads = false;
}

DriverState& state() {
  static DriverState* const only = new DriverState;
  return *only;
}

}  // namespace emulator

#include "driver-state.h"

namespace emulator {

Status DriverState::enter(const char* call) {
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
  return asked != kSuccess ? asked : lost_.load();
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

void DriverState::lose(Status status, const std::string& why) {
  std::lock_guard lock(mutex_);
  if (lost_ != kSuccess) return;
  lost_ = status;
  why_ = why;
}

std::string DriverState::why() {
  std::lock_guard lock(mutex_);
  return why_;
}

void DriverState::reset() {
  std::lock_guard lock(mutex_);
  requests_.clear();
  calls_.clear();
  refusesInnerReads = false;
  lost_ = kSuccess;
  why_.clear();
}

DriverState& state() {
  static DriverState* const only = new DriverState;
  return *only;
}

}  // namespace emulator

#include "card.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace emulator {
namespace {

constexpr int kMostCards = 8;
thread_local int current = 0;
thread_local Turn* held = nullptr;

std::vector<std::unique_ptr<Card>>& cards() {
  static auto* const all = [] {
    const char* const wanted = getenv("EMULATOR_DEVICES");
    const int count = wanted ? atoi(wanted) : 1;
    auto* const made = new std::vector<std::unique_ptr<Card>>;
    for (int i = 0; i < count && i < kMostCards; i++) made->push_back(std::make_unique<Card>(i));
    return made;
  }();
  return *all;
}

// First come, first served: a kernel that polls must not keep the others out.
class Turns {
 public:
  void take(Card& card) {
    std::unique_lock lock(mutex_);
    const uint64_t number = next_++;
    changed_.wait(lock, [&] { return serving_ == number; });
    for (int i = 0; i < cardCount(); i++) {
      if (i == card.ordinal) cardAt(i).memory.show(DeviceMemory::View::all);
      else cardAt(i).memory.show(card.reaches(i) ? DeviceMemory::View::shared : DeviceMemory::View::none);
    }
  }
  // True if somebody waits for it.
  bool give() {
    std::lock_guard lock(mutex_);
    serving_++;
    changed_.notify_all();
    return serving_ != next_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0, serving_ = 0;
};

Turns& turns() {
  static auto* const only = new Turns;
  return *only;
}

}  // namespace

void Card::lose(Status status, const std::string& why) {
  std::lock_guard lock(mutex_);
  if (lost_ != kSuccess) return;
  lost_ = status;
  why_ = why;
}
std::string Card::why() {
  std::lock_guard lock(mutex_);
  return why_;
}
void Card::recover() {
  std::lock_guard lock(mutex_);
  lost_ = kSuccess;
  why_.clear();
}

bool Card::addPeer(int ordinal) {
  std::lock_guard lock(mutex_);
  return peers_.insert(ordinal).second;
}
bool Card::removePeer(int ordinal) {
  std::lock_guard lock(mutex_);
  return peers_.erase(ordinal) == 1;
}
bool Card::reaches(int ordinal) {
  std::lock_guard lock(mutex_);
  return peers_.count(ordinal) == 1;
}

int cardCount() { return static_cast<int>(cards().size()); }
Card& cardAt(int ordinal) { return *cards().at(ordinal); }
Card& card() { return cardAt(current); }
void useCard(int ordinal) { current = ordinal; }

Turn::Turn(Card& card) : card_(card), outer_(held) {
  held = this;
  if (cardCount() > 1 && !outer_) turns().take(card);
}
Turn::~Turn() {
  held = outer_;
  if (cardCount() > 1 && !outer_) turns().give();
}
void Turn::pass() {
  if (cardCount() == 1 || !held) return;
  // Who polls alone waits for a thread that has other things to do: kernels count their polls before they give up.
  if (!turns().give()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  turns().take(held->card_);
}

}  // namespace emulator

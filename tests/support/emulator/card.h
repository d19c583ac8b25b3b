// The emulated cards of this process: each with memory of its own, an error that it never recovers from, and the peers whose
// memory its kernels may use. Calls are for the thread's current card, as in HIP.
#pragma once
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "device-memory.h"
#include "status.h"

namespace emulator {

class Card {
 public:
  explicit Card(int ordinal) : ordinal(ordinal) {}
  const int ordinal;
  DeviceMemory memory;

  // An error after which every call fails, as after a kernel's fault; `why` is for the test's eyes.
  void lose(Status status, const std::string& why);
  Status lost() const { return lost_; }
  std::string why();
  void recover();

  // False when it had access already, or had none.
  bool addPeer(int ordinal);
  bool removePeer(int ordinal);
  bool reaches(int ordinal);

 private:
  std::mutex mutex_;
  std::atomic<Status> lost_{kSuccess};
  std::string why_;
  std::set<int> peers_;
};

// As many as the environment variable EMULATOR_DEVICES says; one without it.
int cardCount();
// Never destroyed: stream threads may outlive the program's static objects.
Card& cardAt(int ordinal);

// The current card of this thread.
Card& card();
void useCard(int ordinal);

// While a thread has the turn, its card works: of the others' memory, only what its card may use can be touched. Without several
// cards it does nothing, and streams run side by side.
class Turn {
 public:
  explicit Turn(Card& card);
  ~Turn();
  Turn(const Turn&) = delete;
  // Lets the other cards work and takes the turn back: within a kernel that waits for a peer.
  static void pass();

 private:
  Card& card_;
  Turn* const outer_;
};

}  // namespace emulator

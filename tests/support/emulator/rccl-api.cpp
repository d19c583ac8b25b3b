// The calls of librccl that rocmforge binds: communicators that do not block, whose collectives meet on the emulated streams. Numbers
// travel through memory of the host that all ranks share, in whatever process they are, as RCCL's do where cards have no access to one
// another's memory. What would hang with RCCL hangs here, until it is aborted, or is refused.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define RCCL_CALL extern "C" __attribute__((visibility("default"))) int

// Of the emulated driver.
extern "C" int emulatorSubmit(const char* call, void* stream, void (*work)(const void*), const void* arguments, size_t bytes,
                              void (*ended)(const void*));
extern "C" int emulatorHolds(const void* address, size_t bytes);
extern "C" int emulatorEnter(const char* call);
extern "C" void emulatorPass();
extern "C" int emulatorCard();
extern "C" void emulatorUse(int ordinal);
extern "C" int emulatorLost();

namespace {

enum Result { kSuccess = 0, kUnhandledError = 1, kInvalidArgument = 4, kInvalidUsage = 5, kInProgress = 7 };
constexpr int kVersion = 22105, kFloats = 7, kSum = 0;
constexpr int kIdBytes = 128;

struct Id {
  char bytes[kIdBytes];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

constexpr int kMostRanks = 8;
// Numbers that a rank brings to a meeting at most; of memory, only what is written is taken.
constexpr size_t kMostNumbers = 4 << 20;

// What a rank brings. Two follow one another: who comes to a meeting has left the one before, so that nobody reads what lies there from
// the one before that.
struct Brought {
  size_t count;
  float numbers[kMostNumbers];
};

// The file that the ranks of one communicator share; all zero at first.
struct Shared {
  std::atomic<int> ranks, joined, finalized;
  std::atomic<bool> taken[kMostRanks];
  std::atomic<uint64_t> arrived[kMostRanks];  // of each rank, the number of meetings that it has come to
  Brought brought[kMostRanks][2];
};

// The file of an id, which ends with its name.
std::string fileOf(const Id& id) {
  const std::string folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "/tmp/";
  return folder + (id.bytes + kIdBytes - 32);
}

Shared* share(const std::string& file) {
  const int opened = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (opened < 0) return nullptr;
  void* const mapped = ftruncate(opened, sizeof(Shared)) == 0
                           ? mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0)
                           : MAP_FAILED;
  close(opened);
  return mapped == MAP_FAILED ? nullptr : static_cast<Shared*>(mapped);
}

// The ranks of one communicator in this process. Never freed: graphs may outlive communicators.
struct Clique {
  Clique(int ranks, std::string file, Shared* shared) : ranks(ranks), file(std::move(file)), shared(shared), aborted(ranks) {}
  const int ranks;
  const std::string file;
  Shared* shared;
  int joined = 0;
  std::vector<std::atomic<bool>> aborted;  // of each rank
  std::atomic<int> ended{0};
  // Collectives that are queued, or in graphs that were not destroyed.
  std::atomic<int> held{0};
};

struct Communicator {
  Clique* clique;
  int rank, card;
  // How often it is asked before what was asked for is done, and an error that it has found.
  int pending;
  int error = kSuccess;
  bool isFinalized = false;
};

struct Collective {
  enum Kind { sum, send, receive } kind;
  Communicator* by;
  const float* from;
  float* to;
  size_t count;
  int peer;
  void* stream;
};

int release = kVersion;

std::mutex mutex;
std::set<Communicator*>& communicators() {
  static auto* const all = new std::set<Communicator*>;
  return *all;
}
std::map<std::string, Clique*>& cliques() {
  static auto* const all = new std::map<std::string, Clique*>;
  return *all;
}
thread_local int groups = 0;
thread_local std::vector<Collective>* grouped = nullptr;

Communicator* alive(void* address) {
  std::lock_guard lock(mutex);
  const auto found = communicators().find(static_cast<Communicator*>(address));
  return found == communicators().end() ? nullptr : *found;
}

int failed(const char* call) { return emulatorEnter(call) == 0 ? kSuccess : kUnhandledError; }

// Waits as a kernel does: the other cards go on meanwhile. False when it was aborted.
template <typename Ready>
bool await(Clique& clique, int rank, Ready ready) {
  while (!ready()) {
    if (clique.aborted[rank] || emulatorLost()) return false;
    emulatorPass();
    // The others may be in another process, on this core.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

// One rank's part of a meeting, on its stream.
struct Part {
  Clique* clique;
  int rank;
  bool sums;
  const float* from;
  float* to;
  size_t counts[kMostRanks];  // of a sum, the first; otherwise what each rank shows
};

void meet(const void* argument) {
  const Part& part = *static_cast<const Part*>(argument);
  Shared& shared = *part.clique->shared;
  const int ranks = part.clique->ranks;
  const size_t own = part.sums ? part.counts[0] : part.counts[part.rank];
  const uint64_t number = shared.arrived[part.rank];
  Brought& mine = shared.brought[part.rank][number % 2];
  mine.count = own;
  memcpy(mine.numbers, part.from, own * sizeof(float));
  shared.arrived[part.rank] = number + 1;
  const auto everybodyIsThere = [&] {
    for (int rank = 0; rank < ranks; rank++)
      if (shared.arrived[rank] <= number) return false;
    return true;
  };
  if (!await(*part.clique, part.rank, everybodyIsThere)) return;
  const auto numberOf = [&](int rank, size_t i) {
    const Brought& brought = shared.brought[rank][number % 2];
    return i < brought.count ? brought.numbers[i] : __builtin_nanf("");
  };
  float* to = part.to;
  if (part.sums) {
    for (size_t i = 0; i < own; i++) {
      float sum = 0;
      for (int rank = 0; rank < ranks; rank++) sum += numberOf(rank, i);
      to[i] = sum;
    }
  } else {
    for (int rank = 0; rank < ranks; rank++)
      for (size_t i = 0; i < part.counts[rank]; i++) *to++ = numberOf(rank, i);
  }
}

void drop(const void* argument) { static_cast<const Part*>(argument)->clique->held--; }

int submit(const char* call, const Communicator& by, void* stream, const Part& part) {
  const int before = emulatorCard();
  emulatorUse(by.card);
  by.clique->held++;
  const int status = emulatorSubmit(call, stream, meet, &part, sizeof part, drop);
  if (status != 0) by.clique->held--;
  emulatorUse(before);
  return status == 0 ? kSuccess : kUnhandledError;
}

// The last of a process's communicators that ends waits until no graph has a collective of any of them.
void end(Communicator* communicator) {
  Clique& clique = *communicator->clique;
  const bool isLast = ++clique.ended == clique.joined;
  if (isLast)
    while (clique.held > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::lock_guard lock(mutex);
  if (isLast) {
    // Others may never have come.
    unlink(clique.file.c_str());
    munmap(clique.shared, sizeof(Shared));
    clique.shared = nullptr;
  }
  communicators().erase(communicator);
  delete communicator;
}

// What a rank of a group sends to all and receives from all, its parts one behind another: the only use that rocmforge makes of both.
int submitGathering(const std::vector<Collective>& own) {
  const Communicator& by = *own.front().by;
  const size_t ranks = by.clique->ranks;
  if (own.size() != 2 * ranks || ranks > 8) return kInvalidUsage;
  Part part{by.clique, by.rank, false, own[0].from, own[1].to, {}};
  float* to = own[1].to;
  for (size_t rank = 0; rank < ranks; rank++) {
    const Collective &sent = own[2 * rank], &received = own[2 * rank + 1];
    const bool fits = sent.kind == Collective::send && received.kind == Collective::receive &&
                      sent.peer == static_cast<int>(rank) && received.peer == sent.peer && sent.from == part.from &&
                      received.to == to && sent.stream == own[0].stream && received.stream == sent.stream;
    if (!fits) return kInvalidUsage;
    part.counts[rank] = received.count;
    to += received.count;
  }
  return submit("ncclSend", by, own[0].stream, part);
}

// Queues what was grouped. One thread has all ranks of this process: a rank whose others here are not in the group would wait for them for
// ever.
int submitAll(const std::vector<Collective>& all) {
  std::map<Communicator*, std::vector<Collective>> byRank;
  for (const Collective& one : all) byRank[one.by].push_back(one);
  for (auto& [by, own] : byRank) {
    size_t present = 0;
    for (const auto& [other, rest] : byRank) present += other->clique == by->clique;
    if (present != static_cast<size_t>(by->clique->joined)) return kInvalidUsage;
    by->pending = 1;
    if (own.front().kind == Collective::sum) {
      for (const Collective& one : own) {
        Part part{by->clique, by->rank, true, one.from, one.to, {one.count}};
        if (const int status = submit("ncclAllReduce", *by, one.stream, part)) return status;
      }
    } else if (const int status = submitGathering(own)) {
      return status;
    }
  }
  return kInProgress;
}

int queue(const char* call, Collective collective, void* communicator, int type) {
  Communicator* const by = alive(communicator);
  if (!by || type != kFloats) return kInvalidArgument;
  if (const int status = failed(call)) return status;
  if (collective.count > kMostNumbers) return kInvalidArgument;
  // Nothing is asked of a communicator that has not done what it was asked for before.
  if (by->pending > 0 || by->isFinalized || !grouped || emulatorCard() != by->card) return kInvalidUsage;
  const bool held = collective.kind == Collective::send      ? emulatorHolds(collective.from, 4 * collective.count)
                    : collective.kind == Collective::receive ? emulatorHolds(collective.to, 4 * collective.count)
                                                             : emulatorHolds(collective.from, 4 * collective.count) &&
                                                                   emulatorHolds(collective.to, 4 * collective.count);
  if (!held) return kInvalidArgument;
  collective.by = by;
  grouped->push_back(collective);
  return kSuccess;
}

}  // namespace

RCCL_CALL ncclGetVersion(int* version) {
  if (const int status = failed("ncclGetVersion")) return status;
  *version = release;
  return kSuccess;
}

extern "C" __attribute__((visibility("default"))) const char* ncclGetErrorString(int result) {
  switch (result) {
    case kUnhandledError: return "unhandled cuda error";
    case kInvalidArgument: return "invalid argument";
    case kInvalidUsage: return "invalid usage";
    case 6: return "remote process exited or there was a network error";
    default: return "unknown result code";
  }
}

RCCL_CALL ncclGetUniqueId(Id* id) {
  if (const int status = failed("ncclGetUniqueId")) return status;
  static std::atomic<uint64_t> made{0};
  memset(id, 0, sizeof *id);
  // Behind the first bytes, so that all of the structure has to arrive.
  snprintf(id->bytes + kIdBytes - 32, 32, "emulated-rccl-%d-%llu", getpid(), static_cast<unsigned long long>(++made));
  return kSuccess;
}

RCCL_CALL ncclCommInitRankConfig(void** made, int ranks, Id id, int rank, const Config* config) {
  if (const int status = failed("ncclCommInitRankConfig")) return status;
  if (config->magic != 0xcafebeef || config->size < sizeof(Config) || rank < 0 || rank >= ranks || ranks > kMostRanks)
    return kInvalidArgument;
  if (config->blocking != 0 || !grouped) return kInvalidUsage;
  std::lock_guard lock(mutex);
  Clique*& clique = cliques()[std::string(id.bytes, kIdBytes)];
  if (!clique) {
    const std::string file = fileOf(id);
    Shared* const shared = share(file);
    if (!shared) return kUnhandledError;
    clique = new Clique(ranks, file, shared);
  }
  Shared& shared = *clique->shared;
  int none = 0;
  if (!shared.ranks.compare_exchange_strong(none, ranks) && none != ranks) return kInvalidArgument;
  if (shared.taken[rank].exchange(true)) return kInvalidArgument;
  clique->joined++;
  // The file is needed no more once all have it.
  if (++shared.joined == ranks) unlink(clique->file.c_str());
  auto* const communicator = new Communicator{clique, rank, emulatorCard(), 2};
  communicators().insert(communicator);
  *made = communicator;
  return kInProgress;
}

RCCL_CALL ncclCommGetAsyncError(void* address, int* result) {
  Communicator* const communicator = alive(address);
  if (!communicator) return kInvalidArgument;
  if (const int status = failed("ncclCommGetAsyncError")) return status;
  const Clique& clique = *communicator->clique;
  const Shared& shared = *clique.shared;
  const bool isWaiting = shared.joined < clique.ranks ||
                         (communicator->isFinalized && (shared.finalized < clique.ranks || clique.held > 0));
  if (!isWaiting && communicator->pending > 0) communicator->pending--;
  *result = communicator->error ? communicator->error : isWaiting || communicator->pending > 0 ? kInProgress : kSuccess;
  return kSuccess;
}

RCCL_CALL ncclCommFinalize(void* address) {
  Communicator* const communicator = alive(address);
  if (!communicator) return kInvalidArgument;
  if (const int status = failed("ncclCommFinalize")) return status;
  if (communicator->pending > 0 || communicator->isFinalized) return kInvalidUsage;
  communicator->isFinalized = true;
  communicator->clique->shared->finalized++;
  communicator->pending = 1;
  return kInProgress;
}

RCCL_CALL ncclCommDestroy(void* address) {
  Communicator* const communicator = alive(address);
  if (!communicator) return kInvalidArgument;
  const int status = failed("ncclCommDestroy");
  if (!communicator->isFinalized || communicator->pending > 0) return kInvalidUsage;
  end(communicator);
  return status;
}

RCCL_CALL ncclCommAbort(void* address) {
  Communicator* const communicator = alive(address);
  if (!communicator) return kInvalidArgument;
  communicator->clique->aborted[communicator->rank] = true;
  end(communicator);
  return kSuccess;
}

RCCL_CALL ncclGroupStart() {
  if (const int status = failed("ncclGroupStart")) return status;
  if (groups++ == 0) grouped = new std::vector<Collective>;
  return kSuccess;
}

RCCL_CALL ncclGroupEnd() {
  if (groups == 0) return kInvalidUsage;
  if (--groups > 0) return kSuccess;
  const std::unique_ptr<std::vector<Collective>> all(grouped);
  grouped = nullptr;
  if (const int status = failed("ncclGroupEnd")) return status;
  return submitAll(*all);
}

RCCL_CALL ncclAllReduce(const float* from, float* to, size_t count, int type, int operation, void* communicator, void* stream) {
  if (operation != kSum) return kInvalidArgument;
  return queue("ncclAllReduce", {Collective::sum, nullptr, from, to, count, 0, stream}, communicator, type);
}

RCCL_CALL ncclSend(const float* from, size_t count, int type, int peer, void* communicator, void* stream) {
  return queue("ncclSend", {Collective::send, nullptr, from, nullptr, count, peer, stream}, communicator, type);
}

RCCL_CALL ncclRecv(float* to, size_t count, int type, int peer, void* communicator, void* stream) {
  return queue("ncclRecv", {Collective::receive, nullptr, nullptr, to, count, peer, stream}, communicator, type);
}

// For tests: communicators that were not destroyed, an error that the communicators of a card find, and another release (0: its own).
RCCL_CALL emulatorCommunicators() {
  std::lock_guard lock(mutex);
  return static_cast<int>(communicators().size());
}
extern "C" __attribute__((visibility("default"))) void emulatorFailCommunicator(int card, int error) {
  std::lock_guard lock(mutex);
  for (Communicator* const communicator : communicators())
    if (communicator->card == card) communicator->error = error;
}
extern "C" __attribute__((visibility("default"))) void emulatorPretend(int version) { release = version ? version : kVersion; }

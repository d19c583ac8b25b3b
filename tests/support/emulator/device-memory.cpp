#include "device-memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace emulator {
namespace {

constexpr size_t kPage = 4 << 10;
constexpr size_t kAlignment = 256;
constexpr size_t kAddressSpace = 1ull << 38;  // reserved once and never given out twice: a use after release faults
constexpr size_t kDefaultLimit = 4ull << 30;
constexpr size_t kUnit = 2 << 20;  // what CUDA's driver maps at once
constexpr size_t kLargestShared = 1 << 20;  // larger allocations have units of their own
constexpr size_t kSmall = 512;
constexpr uint8_t kTail = 0xab;

size_t roundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

DeviceMemory::DeviceMemory() : limit_(kDefaultLimit) {
  void* space = mmap(nullptr, kAddressSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) abort();
  begin_ = next_ = static_cast<char*>(space);
}

void* DeviceMemory::allocate(size_t bytes, bool shared) {
  std::lock_guard lock(mutex_);
  const size_t padded = roundUp(bytes, kAlignment), pages = roundUp(padded, kPage);
  const size_t large = bytes > kLargestShared ? roundUp(bytes, kUnit) : 0;
  const size_t small = large ? 0 : roundUp(bytes, kSmall);
  if (large_ + large + roundUp(small_ + small, kUnit) > limit_) return nullptr;
  if (next_ + kPage + pages + kPage > begin_ + kAddressSpace) return nullptr;
  char* const firstPage = next_ + kPage;
  if (mprotect(firstPage, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  next_ = firstPage + pages;
  char* const address = firstPage + pages - padded;
  memset(firstPage, 0xff, pages);
  memset(address + bytes, kTail, padded - bytes);
  live_[address] = {bytes, pages, firstPage, shared};
  large_ += large;
  small_ += small;
  return address;
}

DeviceMemory::Release DeviceMemory::release(void* address) {
  std::lock_guard lock(mutex_);
  const auto found = live_.find(static_cast<char*>(address));
  if (found == live_.end()) return Release::unknown;
  const Allocation allocation = found->second;
  bool overrun = false;
  for (char* at = found->first + allocation.bytes; at < allocation.firstPage + allocation.pages; at++)
    overrun |= static_cast<uint8_t>(*at) != kTail;
  madvise(allocation.firstPage, allocation.pages, MADV_DONTNEED);
  mprotect(allocation.firstPage, allocation.pages, PROT_NONE);
  if (allocation.bytes > kLargestShared) large_ -= roundUp(allocation.bytes, kUnit);
  else small_ -= roundUp(allocation.bytes, kSmall);
  live_.erase(found);
  return overrun ? Release::overrun : Release::ok;
}

bool DeviceMemory::owns(const void* address) const {
  return address >= begin_ && address < begin_ + kAddressSpace;
}

bool DeviceMemory::holds(const void* address, size_t bytes) {
  std::lock_guard lock(mutex_);
  const char* const first = static_cast<const char*>(address);
  auto after = live_.upper_bound(const_cast<char*>(first));
  if (after == live_.begin()) return false;
  const auto& [start, allocation] = *--after;
  return first + bytes <= start + allocation.bytes;
}

bool DeviceMemory::starts(const void* address) {
  std::lock_guard lock(mutex_);
  return live_.count(static_cast<char*>(const_cast<void*>(address))) == 1;
}

bool DeviceMemory::open(const Allocation& allocation, bool accessible) {
  return mprotect(allocation.firstPage, allocation.pages, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

void DeviceMemory::show(View view) {
  std::lock_guard lock(mutex_);
  const auto visible = [](View view, const Allocation& of) {
    return view == View::all || (view == View::shared && of.shared);
  };
  for (const auto& [address, allocation] : live_) {
    const bool now = visible(view, allocation);
    if (now != visible(view_, allocation) && !open(allocation, now)) abort();
  }
  view_ = view;
}

void DeviceMemory::setLimit(size_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}
size_t DeviceMemory::limit() {
  std::lock_guard lock(mutex_);
  return limit_;
}
size_t DeviceMemory::taken() {
  std::lock_guard lock(mutex_);
  return large_ + roundUp(small_, kUnit);
}
size_t DeviceMemory::count() {
  std::lock_guard lock(mutex_);
  return live_.size();
}

}  // namespace emulator

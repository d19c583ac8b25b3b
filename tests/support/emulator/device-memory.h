// Device memory: apart from the host's, every allocation between pages that nobody may touch, filled with NaN when fresh.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace emulator {

class DeviceMemory {
 public:
  DeviceMemory();

  // The address, or null when the limit or the address space is used up.
  void* allocate(size_t bytes);
  enum class Release { ok, unknown, overrun };
  // `overrun`: something wrote between the allocation's last byte and its guard page.
  Release release(void* address);

  // Is it inside the device's address range, allocated or not?
  bool owns(const void* address) const;
  // Does one live allocation hold all of it?
  bool holds(const void* address, size_t bytes);
  // Does a live allocation begin there?
  bool starts(const void* address);

  void setLimit(size_t bytes);
  size_t limit();
  // Bytes as a driver counts them: in units of 2 MiB, which small allocations share.
  size_t taken();
  size_t count();

 private:
  struct Allocation {
    size_t bytes, pages;
    char* firstPage;
  };
  std::mutex mutex_;
  char* begin_;
  char* next_;
  size_t limit_;
  size_t large_ = 0, small_ = 0;  // what is taken, small allocations before they share units
  std::map<char*, Allocation> live_;
};

}  // namespace emulator

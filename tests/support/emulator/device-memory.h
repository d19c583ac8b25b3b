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

  // The address, or null when the limit or the address space is used up. `shared`: what other cards may use while kernels run, too
  // (fine-grained; all else may be in a cache of the card).
  void* allocate(size_t bytes, bool shared);
  enum class Release { ok, unknown, overrun };
  // `overrun`: something wrote between the allocation's last byte and its guard page.
  Release release(void* address);

  // Is it inside the device's address range, allocated or not?
  bool owns(const void* address) const;
  // Does one live allocation hold all of it?
  bool holds(const void* address, size_t bytes);
  // Does a live allocation begin there?
  bool starts(const void* address);

  // What can be touched of it.
  enum class View { none, shared, all };
  void show(View view);

  void setLimit(size_t bytes);
  size_t limit();
  // Bytes as a driver counts them: in units of 2 MiB, which small allocations share.
  size_t taken();
  size_t count();

 private:
  struct Allocation {
    size_t bytes, pages;
    char* firstPage;
    bool shared;
  };
  // Makes an allocation's pages accessible, or not.
  static bool open(const Allocation& allocation, bool accessible);

  std::mutex mutex_;
  char* begin_;
  char* next_;
  size_t limit_;
  size_t large_ = 0, small_ = 0;  // what is taken, small allocations before they share units
  View view_ = View::all;
  std::map<char*, Allocation> live_;
};

}  // namespace emulator

// The calls of libamdhip64 that rocmforge's driver binds, over the emulated cards.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "driver-state.h"
#include "hip-checks.h"
#include "target.h"

using namespace emulator;

namespace {

bool isDevice(const void* address) {
  for (int i = 0; i < cardCount(); i++)
    if (cardAt(i).memory.owns(address)) return true;
  return false;
}

constexpr unsigned kHostMallocMapped = 2;

// Host memory that is a device's as well, with its bytes. Never destroyed, as stream threads may outlive static objects.
struct Mapped {
  std::mutex mutex;
  std::map<const char*, size_t> bytes;
};

Mapped& mapped() {
  static Mapped& of = *new Mapped;
  return of;
}

bool exists(int device) { return device >= 0 && device < cardCount(); }

// Every pair of cards has access, unless a test denied it.
bool mayReach(int device, int peer) {
  return exists(device) && exists(peer) && device != peer && !state().denied(device, peer);
}

}  // namespace

bool emulator::isMapped(const void* address, size_t bytes) {
  std::lock_guard lock(mapped().mutex);
  const char* at = static_cast<const char*>(address);
  const auto behind = mapped().bytes.upper_bound(at);
  if (behind == mapped().bytes.begin()) return false;
  const auto& [first, size] = *std::prev(behind);
  return at + bytes <= first + size;
}

HIP_CALL hipInit(unsigned) { return state().enter("hipInit"); }

HIP_CALL hipGetDeviceCount(int* count) {
  if (const Status failed = state().enter("hipGetDeviceCount")) return failed;
  *count = cardCount();
  return *count > 0 ? kSuccess : kNoDevice;
}

HIP_CALL hipSetDevice(int device) {
  if (const Status failed = state().enterAny("hipSetDevice")) return failed;
  if (!exists(device)) return kInvalidDevice;
  useCard(device);
  return kSuccess;
}

HIP_CALL hipRuntimeGetVersion(int* version) {
  *version = 70051831;
  return state().enter("hipRuntimeGetVersion");
}

HIP_CALL hipDriverGetVersion(int* version) {
  *version = 70051831;
  return state().enter("hipDriverGetVersion");
}

HIP_CALL hipDeviceGetName(char* name, int length, int) {
  snprintf(name, length, "Emulated %s", currentTarget().name);
  return state().enter("hipDeviceGetName");
}

HIP_CALL hipDeviceGetPCIBusId(char* id, int length, int device) {
  snprintf(id, length, "0000:0%x:00.0", device);
  return state().enter("hipDeviceGetPCIBusId");
}

HIP_CALL hipDeviceGetAttribute(int* value, int attribute, int) {
  if (const Status failed = state().enter("hipDeviceGetAttribute")) return failed;
  switch (attribute) {
    case 19: *value = 4 << 20; return kSuccess;                 // L2 cache
    case 23: *value = 11; return kSuccess;                      // compute capability
    case 61: *value = 0; return kSuccess;
    case 56: *value = kMaxThreads; return kSuccess;             // threads a block
    case 63: *value = currentTarget().multiprocessors; return kSuccess;
    case 74: *value = kSharedBytes; return kSuccess;            // shared memory a block
    case 87: *value = currentTarget().waveSize; return kSuccess;
    default: return kInvalidValue;
  }
}

HIP_CALL hipGetDevicePropertiesR0600(char* properties, int device) {
  if (const Status failed = state().enter("hipGetDevicePropertiesR0600")) return failed;
  if (!exists(device)) return kInvalidDevice;
  constexpr size_t kBytes = 1472, kTargetOffset = 1160;
  memset(properties, 0, kBytes);
  hipDeviceGetName(properties, 256, device);
  strcpy(properties + kTargetOffset, currentTarget().name);
  return kSuccess;
}

extern "C" EXPORTED const char* hipGetErrorName(int status) {
  switch (status) {
    case kSuccess: return "hipSuccess";
    case kInvalidValue: return "hipErrorInvalidValue";
    case kOutOfMemory: return "hipErrorOutOfMemory";
    case kNoDevice: return "hipErrorNoDevice";
    case kNoBinaryForGpu: return "hipErrorNoBinaryForGpu";
    case kInvalidHandle: return "hipErrorInvalidHandle";
    case kNotFound: return "hipErrorNotFound";
    case kNotReady: return "hipErrorNotReady";
    case kIllegalAddress: return "hipErrorIllegalAddress";
    case kLaunchOutOfResources: return "hipErrorLaunchOutOfResources";
    case kLaunchFailure: return "hipErrorLaunchFailure";
    case kStreamCaptureUnsupported: return "hipErrorStreamCaptureUnsupported";
    default: return "hipErrorUnknown";
  }
}

extern "C" EXPORTED const char* hipGetErrorString(int status) {
  switch (status) {
    case kSuccess: return "no error";
    case kOutOfMemory: return "out of memory";
    case kIllegalAddress: return "an illegal memory access was encountered";
    case kLaunchFailure: return "unspecified launch failure";
    default: return hipGetErrorName(status);
  }
}

// ---- peers ----------------------------------------------------------------------------------------------------------

HIP_CALL hipDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const Status failed = state().enterAny("hipDeviceCanAccessPeer")) return failed;
  if (!exists(device) || !exists(peer)) return kInvalidDevice;
  *can = mayReach(device, peer);
  return kSuccess;
}

HIP_CALL hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (const Status failed = unsafeCall("hipDeviceEnablePeerAccess")) return failed;
  if (!exists(peer)) return kInvalidDevice;
  if (flags != 0) return kInvalidValue;
  if (!mayReach(card().ordinal, peer)) return kPeerAccessUnsupported;
  return card().addPeer(peer) ? kSuccess : kPeerAccessAlreadyEnabled;
}

HIP_CALL hipDeviceDisablePeerAccess(int peer) {
  const Status failed = unsafeCall("hipDeviceDisablePeerAccess");
  if (!exists(peer)) return kInvalidDevice;
  if (!card().removePeer(peer)) return kPeerAccessNotEnabled;
  return failed;
}

// hsa_amd_link_info_type_t: PCIe 2, XGMI 4.
HIP_CALL hipExtGetLinkTypeAndHopCount(int device, int peer, uint32_t* type, uint32_t* hops) {
  if (const Status failed = state().enterAny("hipExtGetLinkTypeAndHopCount")) return failed;
  if (!exists(device) || !exists(peer) || device == peer) return kInvalidValue;
  *type = mayReach(device, peer) ? 4 : 2;
  *hops = mayReach(device, peer) ? 1 : 2;
  return kSuccess;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

HIP_CALL hipDeviceTotalMem(size_t* total, int device) {
  if (const Status failed = state().enter("hipDeviceTotalMem")) return failed;
  if (!exists(device)) return kInvalidDevice;
  *total = cardAt(device).memory.limit();
  return kSuccess;
}

HIP_CALL hipMemGetInfo(size_t* free, size_t* total) {
  if (const Status failed = state().enter("hipMemGetInfo")) return failed;
  *total = card().memory.limit();
  const size_t taken = card().memory.taken();
  *free = taken < *total ? *total - taken : 0;
  return kSuccess;
}

HIP_CALL hipMalloc(void** address, size_t bytes) {
  if (const Status failed = unsafeCall("hipMalloc")) return failed;
  const Turn turn(card());
  *address = card().memory.allocate(bytes, false);
  return *address ? kSuccess : kOutOfMemory;
}

HIP_CALL hipExtMallocWithFlags(void** address, size_t bytes, unsigned flags) {
  if (const Status failed = unsafeCall("hipExtMallocWithFlags")) return failed;
  constexpr unsigned kFineGrained = 1;
  if (flags != kFineGrained) return kInvalidValue;
  const Turn turn(card());
  *address = card().memory.allocate(bytes, true);
  return *address ? kSuccess : kOutOfMemory;
}

HIP_CALL hipFree(void* address) {
  const Status failed = unsafeCall("hipFree");
  if (!address) return failed;
  synchronizeAll(card());
  const Turn turn(card());
  switch (card().memory.release(address)) {
    case DeviceMemory::Release::unknown: return kInvalidValue;
    case DeviceMemory::Release::overrun:
      card().lose(kIllegalAddress, "something was written behind the end of a device allocation");
      return kIllegalAddress;
    default: return failed;
  }
}

HIP_CALL hipHostMalloc(void** address, size_t bytes, unsigned flags) {
  if (const Status failed = unsafeCall("hipHostMalloc")) return failed;
  *address = nullptr;
  if (posix_memalign(address, 4096, bytes) != 0) return kOutOfMemory;
  memset(*address, 0xff, bytes);
  if (flags & kHostMallocMapped) {
    std::lock_guard lock(mapped().mutex);
    mapped().bytes[static_cast<char*>(*address)] = bytes;
  }
  state().add(Kind::pinned, *address);
  return kSuccess;
}

HIP_CALL hipHostFree(void* address) {
  const Status failed = unsafeCall("hipHostFree");
  if (!state().remove(Kind::pinned, address)) return kInvalidValue;
  for (int i = 0; i < cardCount(); i++) synchronizeAll(cardAt(i));
  {
    std::lock_guard lock(mapped().mutex);
    mapped().bytes.erase(static_cast<char*>(address));
  }
  free(address);
  return failed;
}

HIP_CALL hipHostRegister(void* address, size_t, unsigned) {
  if (const Status failed = unsafeCall("hipHostRegister")) return failed;
  if (isDevice(address)) return kInvalidValue;
  if (state().alive(Kind::pinned, address)) return kHostMemoryAlreadyRegistered;
  state().add(Kind::pinned, address);
  return kSuccess;
}

HIP_CALL hipHostUnregister(void* address) {
  const Status failed = unsafeCall("hipHostUnregister");
  return state().remove(Kind::pinned, address) ? failed : kHostMemoryNotRegistered;
}

HIP_CALL hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  if (const Status failed = streamCall("hipMemcpyAsync", stream)) return failed;
  const bool toDevice = kind == 1 || kind == 3, fromDevice = kind == 2 || kind == 3;
  const auto right = [bytes](const void* at, bool device) {
    return device ? card().memory.holds(at, bytes) || isMapped(at, bytes) : !isDevice(at);
  };
  if (!right(to, toDevice) || !right(from, fromDevice)) return kInvalidValue;
  if (kind == 2 && state().refusesInnerReads && !card().memory.starts(from)) return kInvalidValue;
  submit(stream, [=] {
    const Turn turn(card());
    if (faults([=] { memcpy(to, from, bytes); })) card().lose(kIllegalAddress, "a copy touched released memory");
  });
  return kSuccess;
}

HIP_CALL hipMemcpy2DAsync(void* to, size_t toStride, const void* from, size_t fromStride, size_t bytes, size_t rows, int kind,
                          void* stream) {
  if (const Status failed = streamCall("hipMemcpy2DAsync", stream)) return failed;
  if (kind != 1 || bytes == 0 || rows == 0 || toStride < bytes || fromStride < bytes) return kInvalidValue;
  if (!card().memory.holds(to, (rows - 1) * toStride + bytes) || isDevice(from)) return kInvalidValue;
  submit(stream, [=] {
    const Turn turn(card());
    const auto copy = [=] {
      for (size_t row = 0; row < rows; row++)
        memcpy(static_cast<char*>(to) + row * toStride, static_cast<const char*>(from) + row * fromStride, bytes);
    };
    if (faults(copy)) card().lose(kIllegalAddress, "a copy touched released memory");
  });
  return kSuccess;
}

HIP_CALL hipMemsetAsync(void* to, int value, size_t bytes, void* stream) {
  if (const Status failed = streamCall("hipMemsetAsync", stream)) return failed;
  if (!card().memory.holds(to, bytes)) return kInvalidValue;
  submit(stream, [=] {
    const Turn turn(card());
    if (faults([=] { memset(to, value, bytes); })) card().lose(kIllegalAddress, "a fill touched released memory");
  });
  return kSuccess;
}

// The calls of libamdhip64 that rocmforge's driver binds, over one emulated device.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver-state.h"
#include "hip-checks.h"
#include "target.h"

using namespace emulator;

HIP_CALL hipInit(unsigned) { return state().enter("hipInit"); }

HIP_CALL hipGetDeviceCount(int* count) {
  if (const Status failed = state().enter("hipGetDeviceCount")) return failed;
  const char* const devices = getenv("EMULATOR_DEVICES");
  *count = devices ? atoi(devices) : 1;
  return *count > 0 ? kSuccess : kNoDevice;
}

HIP_CALL hipSetDevice(int device) {
  if (const Status failed = state().enter("hipSetDevice")) return failed;
  return device == 0 ? kSuccess : kInvalidDevice;
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

HIP_CALL hipDeviceGetPCIBusId(char* id, int length, int) {
  snprintf(id, length, "0000:00:00.0");
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
  if (device != 0) return kInvalidDevice;
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

// ---- memory ---------------------------------------------------------------------------------------------------------

HIP_CALL hipMemGetInfo(size_t* free, size_t* total) {
  if (const Status failed = state().enter("hipMemGetInfo")) return failed;
  *total = state().memory.limit();
  const size_t taken = state().memory.taken();
  *free = taken < *total ? *total - taken : 0;
  return kSuccess;
}

HIP_CALL hipMalloc(void** address, size_t bytes) {
  if (const Status failed = unsafeCall("hipMalloc")) return failed;
  *address = state().memory.allocate(bytes);
  return *address ? kSuccess : kOutOfMemory;
}

HIP_CALL hipFree(void* address) {
  const Status failed = unsafeCall("hipFree");
  if (!address) return failed;
  synchronizeAll();
  switch (state().memory.release(address)) {
    case DeviceMemory::Release::unknown: return kInvalidValue;
    case DeviceMemory::Release::overrun:
      state().lose(kIllegalAddress, "something was written behind the end of a device allocation");
      return kIllegalAddress;
    default: return failed;
  }
}

HIP_CALL hipHostMalloc(void** address, size_t bytes, unsigned) {
  if (const Status failed = unsafeCall("hipHostMalloc")) return failed;
  *address = nullptr;
  if (posix_memalign(address, 4096, bytes) != 0) return kOutOfMemory;
  memset(*address, 0xff, bytes);
  state().add(Kind::pinned, *address);
  return kSuccess;
}

HIP_CALL hipHostFree(void* address) {
  const Status failed = unsafeCall("hipHostFree");
  if (!state().remove(Kind::pinned, address)) return kInvalidValue;
  synchronizeAll();
  free(address);
  return failed;
}

HIP_CALL hipHostRegister(void* address, size_t, unsigned) {
  if (const Status failed = unsafeCall("hipHostRegister")) return failed;
  if (state().memory.owns(address)) return kInvalidValue;
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
    return device ? state().memory.holds(at, bytes) : !state().memory.owns(at);
  };
  if (!right(to, toDevice) || !right(from, fromDevice)) return kInvalidValue;
  if (kind == 2 && state().refusesInnerReads && !state().memory.starts(from)) return kInvalidValue;
  submit(stream, [=] {
    if (faults([=] { memcpy(to, from, bytes); })) state().lose(kIllegalAddress, "a copy touched released memory");
  });
  return kSuccess;
}

HIP_CALL hipMemsetAsync(void* to, int value, size_t bytes, void* stream) {
  if (const Status failed = streamCall("hipMemsetAsync", stream)) return failed;
  if (!state().memory.holds(to, bytes)) return kInvalidValue;
  submit(stream, [=] {
    if (faults([=] { memset(to, value, bytes); })) state().lose(kIllegalAddress, "a fill touched released memory");
  });
  return kSuccess;
}

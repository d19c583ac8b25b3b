/*
 * libamdhip64 over libcuda: the calls of HIP that rocmforge makes, each forwarded to its equal of the CUDA driver API. With it
 * the HIP driver's call paths run on an NVIDIA card, whose streams are truly asynchronous. HIP took its statuses, flags and
 * handles from CUDA, so that most go through unchanged.
 */
#include <cuda.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define HIP __attribute__((visibility("default")))

/* Every AMD GPU gives a block as much without asking; cards under CUDA have to be asked, kernel by kernel. */
enum { kSharedBytes = 64 << 10 };

/* Of hip_runtime_api.h: hipMemcpyKind, hipDeviceAttribute_t, and hipDeviceProp_t as ROCm 6 has it. */
enum { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };
enum { kL2CacheSize = 19, kMaxThreadsPerBlock = 56, kMultiprocessorCount = 63, kMaxSharedMemoryPerBlock = 74, kWarpSize = 87 };
enum { kPropertiesBytes = 1472, kGcnArchNameOffset = 1160, kGcnArchNameBytes = 256 };

static CUdeviceptr device(const void *address) { return (CUdeviceptr)(size_t)address; }

HIP int hipInit(unsigned flags) { return cuInit(flags); }
HIP int hipGetDeviceCount(int *count) { return cuDeviceGetCount(count); }
HIP int hipDeviceGetName(char *name, int bytes, CUdevice ordinal) { return cuDeviceGetName(name, bytes, ordinal); }
HIP int hipDeviceGetPCIBusId(char *id, int bytes, int ordinal) { return cuDeviceGetPCIBusId(id, bytes, ordinal); }

/* HIP counts 10 000 000 a major and 100 000 a minor version, CUDA 1000 and 10. */
HIP int hipRuntimeGetVersion(int *version) {
  int status = cuDriverGetVersion(version);
  *version = *version / 1000 * 10000000 + *version % 1000 / 10 * 100000;
  return status;
}

/* HIP's current device is the thread's, as its primary context is in CUDA; it stays as long as the process. */
HIP int hipSetDevice(int ordinal) {
  CUcontext context;
  int status = cuDevicePrimaryCtxRetain(&context, ordinal);
  return status ? status : (int)cuCtxSetCurrent(context);
}

HIP int hipDeviceGetAttribute(int *value, int attribute, int ordinal) {
  switch (attribute) {
    case kL2CacheSize:
      return cuDeviceGetAttribute(value, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, ordinal);
    case kMaxThreadsPerBlock:
      return cuDeviceGetAttribute(value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, ordinal);
    case kMultiprocessorCount:
      return cuDeviceGetAttribute(value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal);
    case kWarpSize:
      return cuDeviceGetAttribute(value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, ordinal);
    case kMaxSharedMemoryPerBlock:
      *value = kSharedBytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

HIP int hipGetDevicePropertiesR0600(char *properties, int ordinal) {
  int major, minor;
  int status = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
  if (!status) status = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
  if (status) return status;
  memset(properties, 0, kPropertiesBytes);
  snprintf(properties + kGcnArchNameOffset, kGcnArchNameBytes, "sm_%d%d", major, minor);
  return CUDA_SUCCESS;
}

HIP const char *hipGetErrorName(int status) {
  const char *name = "hipErrorUnknown";
  cuGetErrorName((CUresult)status, &name);
  return name;
}
HIP const char *hipGetErrorString(int status) {
  const char *text = "unknown";
  cuGetErrorString((CUresult)status, &text);
  return text;
}

/* CUDA's peer access is between contexts, HIP's between devices. */
static int primary(int ordinal, CUcontext *context) {
  int status = cuDevicePrimaryCtxRetain(context, ordinal);
  return status ? status : (int)cuDevicePrimaryCtxRelease(ordinal);
}
HIP int hipDeviceCanAccessPeer(int *can, int ordinal, int peer) { return cuDeviceCanAccessPeer(can, ordinal, peer); }
HIP int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  CUcontext context;
  int status = primary(peer, &context);
  return status ? status : (int)cuCtxEnablePeerAccess(context, flags);
}
HIP int hipDeviceDisablePeerAccess(int peer) {
  CUcontext context;
  int status = primary(peer, &context);
  return status ? status : (int)cuCtxDisablePeerAccess(context);
}
/* hsa_amd_link_info_type_t: PCIe. What NVIDIA's cards are connected by, CUDA does not say. */
HIP int hipExtGetLinkTypeAndHopCount(int ordinal, int peer, unsigned *type, unsigned *hops) {
  (void)ordinal, (void)peer;
  *type = 2;
  *hops = 1;
  return CUDA_SUCCESS;
}

HIP int hipDeviceTotalMem(size_t *total, int ordinal) { return cuDeviceTotalMem(total, ordinal); }
HIP int hipMemGetInfo(size_t *available, size_t *total) { return cuMemGetInfo(available, total); }
HIP int hipMalloc(CUdeviceptr *address, size_t bytes) { return cuMemAlloc(address, bytes); }
HIP int hipExtMallocWithFlags(CUdeviceptr *address, size_t bytes, unsigned flags) {
  (void)flags;
  return cuMemAlloc(address, bytes);
}
HIP int hipFree(void *address) { return cuMemFree(device(address)); }
HIP int hipHostMalloc(void **address, size_t bytes, unsigned flags) {
  return cuMemHostAlloc(address, bytes, flags | CU_MEMHOSTALLOC_PORTABLE);
}
HIP int hipHostFree(void *address) { return cuMemFreeHost(address); }
HIP int hipHostRegister(void *address, size_t bytes, unsigned flags) {
  return cuMemHostRegister(address, bytes, flags | CU_MEMHOSTREGISTER_PORTABLE);
}
HIP int hipHostUnregister(void *address) { return cuMemHostUnregister(address); }
HIP int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream) {
  switch (kind) {
    case kHostToDevice:
      return cuMemcpyHtoDAsync(device(to), from, bytes, stream);
    case kDeviceToHost:
      return cuMemcpyDtoHAsync(to, device(from), bytes, stream);
    case kDeviceToDevice:
      return cuMemcpyDtoDAsync(device(to), device(from), bytes, stream);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
HIP int hipMemcpy2DAsync(void *to, size_t to_stride, const void *from, size_t from_stride, size_t bytes, size_t rows, int kind,
                         CUstream stream) {
  if (kind != kHostToDevice) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = from,
                              .srcPitch = from_stride,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = device(to),
                              .dstPitch = to_stride,
                              .WidthInBytes = bytes,
                              .Height = rows};
  return cuMemcpy2DAsync(&copy, stream);
}
HIP int hipMemsetAsync(void *to, int byte, size_t bytes, CUstream stream) {
  return cuMemsetD8Async(device(to), (unsigned char)byte, bytes, stream);
}

HIP int hipStreamCreateWithFlags(CUstream *stream, unsigned flags) { return cuStreamCreate(stream, flags); }
HIP int hipStreamDestroy(CUstream stream) { return cuStreamDestroy(stream); }
HIP int hipStreamQuery(CUstream stream) { return cuStreamQuery(stream); }
HIP int hipStreamSynchronize(CUstream stream) { return cuStreamSynchronize(stream); }
HIP int hipStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return cuStreamWaitEvent(stream, event, flags);
}
HIP int hipEventCreateWithFlags(CUevent *event, unsigned flags) { return cuEventCreate(event, flags); }
HIP int hipEventDestroy(CUevent event) { return cuEventDestroy(event); }
HIP int hipEventRecord(CUevent event, CUstream stream) { return cuEventRecord(event, stream); }
HIP int hipEventQuery(CUevent event) { return cuEventQuery(event); }
HIP int hipEventSynchronize(CUevent event) { return cuEventSynchronize(event); }
HIP int hipEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  return cuEventElapsedTime(milliseconds, from, to);
}

HIP int hipModuleLoadData(CUmodule *module, const void *image) { return cuModuleLoadData(module, image); }
HIP int hipModuleUnload(CUmodule module) { return cuModuleUnload(module); }
HIP int hipModuleGetFunction(CUfunction *kernel, CUmodule module, const char *name) {
  int fixed;
  int status = cuModuleGetFunction(kernel, module, name);
  if (!status) status = cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *kernel);
  if (status) return status;
  return cuFuncSetAttribute(*kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kSharedBytes - fixed);
}
HIP int hipModuleLaunchKernel(CUfunction kernel, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                              unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,
                              void **extra) {
  return cuLaunchKernel(kernel, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, parameters, extra);
}

HIP int hipStreamBeginCapture(CUstream stream, int mode) {
  return cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode);
}
HIP int hipStreamEndCapture(CUstream stream, CUgraph *graph) { return cuStreamEndCapture(stream, graph); }
HIP int hipGraphInstantiate(CUgraphExec *executable, CUgraph graph, void *errorNode, char *log, size_t logBytes) {
  (void)errorNode, (void)log, (void)logBytes;
  return cuGraphInstantiateWithFlags(executable, graph, 0);
}
HIP int hipGraphLaunch(CUgraphExec executable, CUstream stream) { return cuGraphLaunch(executable, stream); }
HIP int hipGraphDestroy(CUgraph graph) { return cuGraphDestroy(graph); }
HIP int hipGraphExecDestroy(CUgraphExec executable) { return cuGraphExecDestroy(executable); }

export { type CompilerTable, cudaCompiler, hipCompiler } from './compiler/compiler-table.ts';
export { openCompiler, RunTimeCompiler } from './compiler/run-time-compiler.ts';
export { cudaDriver } from './driver/cuda-driver.ts';
export { Driver } from './driver/driver.ts';
export type { DeviceAttributes, Extent, LaunchShape } from './driver/driver-calls.ts';
export { DriverLibrary } from './driver/driver-library.ts';
export type { DriverTable } from './driver/driver-table.ts';
export { hipDriver } from './driver/hip-driver.ts';
export { compileOptions } from './launching/compile-options.ts';
export type {
  GraphAddresses,
  HipCudaWeight,
  KernelSet,
  LoweredGraph,
  HipCudaTarget,
} from './launching/kernel-set.ts';
export { kernelSource } from './launching/kernel-source.ts';
export {
  type CopyLaunch,
  type FillLaunch,
  f32,
  i32,
  type KernelArgument,
  type KernelLaunch,
  type KernelModule,
  type Launch,
  moduleKey,
  pointer,
  u32,
} from './launching/launch.ts';
export { SMALL_COPY } from './launching/small-copy.ts';
export { HIP_CUDA_KERNELS } from './lowering/hip-cuda-kernels.ts';
export { type BlasTable, cudaBlas, hipBlas } from './launching/blas/blas-table.ts';
export { HipCudaBuffer } from './memory/hip-cuda-buffer.ts';
export type { HipCudaPinned } from './memory/hip-cuda-pinned.ts';
export { NcclLibrary } from './peers/nccl-library.ts';
export { cudaNccl, hipNccl, type NcclTable } from './peers/nccl-table.ts';
export type { PeerLinkOptions } from './peers/hip-cuda-peer-link.ts';
export type { LinkOptions } from './peers/open-link.ts';
export { describeHipCudaDevice, HipCudaDevice, type HipCudaDeviceOptions } from './hip-cuda-device.ts';
export type {
  CompileJob,
  CompileResult,
  KernelCache,
  KernelCompiler,
  KernelTexts,
  HipCudaPlatform,
  Scheduler,
} from './platform.ts';
export { HipEvent } from './streams/hip-event.ts';
export { HipStream } from './streams/hip-stream.ts';

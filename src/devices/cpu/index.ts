/** `rocmforge/cpu`: the CPU as a device, for platforms that start workers and load the kernels themselves. */
export type { WasmSource } from '../../base/web-types.ts';
export { type CpuDeviceOptions, openCpuDevice } from './cpu-device.ts';
export { runDecodeWorker } from './decoding/decode-worker.ts';
export { type CpuDecoderOptions, openCpuDecoder } from './decoding/decode-pool.ts';
export type { ComingNative, KernelBytes, NativeFound, NativeOffer } from './kernel-choice.ts';
export type { FfiLoader, NativeBuild } from './native/native-kernels.ts';
export {
  NATIVE_FLAGS,
  NATIVE_TEXTS,
  NATIVE_VARIANTS,
  nativeVariants,
  type NativeVariant,
} from './native/variants.ts';
export { type CpuWorkerOptions, runCpuWorker } from './worker/index.ts';

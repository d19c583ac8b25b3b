export { type CpuDeviceOptions, openCpuDevice } from './cpu-device.ts';
export { type CpuDecoderOptions, openCpuDecoder } from './decoding/decode-pool.ts';
export type { KernelBytes } from './kernel-choice.ts';
export { runCpuWorker } from './worker/index.ts';

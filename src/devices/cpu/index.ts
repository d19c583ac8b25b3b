export { type CpuDeviceOptions, openCpuDevice } from './cpu-device.ts';
export type { KernelBytes } from './kernel-choice.ts';
export { runCpuWorker } from './worker/index.ts';

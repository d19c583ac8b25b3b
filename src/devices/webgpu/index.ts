export { GPU_FEATURES, type GpuFeature, type GpuProvider } from './gpu-target.ts';
export { openWebGpuDevice, type WebGpuDeviceOptions } from './open-webgpu-device.ts';
export type { WebGpuDevice } from './webgpu-device.ts';

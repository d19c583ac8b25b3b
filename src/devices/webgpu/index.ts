/** `rocmforge/webgpu`: any GPU as a device, through a WebGPU implementation that is passed in. */
export type { GPU, GPUBuffer, GPURequestAdapterOptions } from '../../base/web-types.ts';
export { GPU_FEATURES, type GpuFeature, type GpuProvider } from './gpu-target.ts';
export type { DispatchTime } from './launching/dispatch-times.ts';
export type { WebGpuBuffer } from './memory/webgpu-buffer.ts';
export { openWebGpuDevice, type WebGpuDeviceOptions } from './open-webgpu-device.ts';
export type { WebGpuStream } from './streams/webgpu-stream.ts';
export type { WebGpuDevice } from './webgpu-device.ts';

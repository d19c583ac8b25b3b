export { DeviceGroup, type DeviceGroupOptions } from './device-group.ts';
export { DevicePipeline } from './device-pipeline.ts';

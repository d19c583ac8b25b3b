export { DeviceGroup, type DeviceGroupOptions } from './device-group.ts';

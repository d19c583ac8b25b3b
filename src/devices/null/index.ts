export { type NullDeviceOptions, openNullDevice } from './null-device.ts';

export { openReferenceDevice, type ReferenceDeviceOptions } from './reference-device.ts';

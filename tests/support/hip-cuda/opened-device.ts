import { describeNativeDevice, type NativeDevice } from '../../../src/devices/hip-cuda/index.ts';

/** A device whose driver is started and ready. Throws as `NativeDevice.open`; nothing of the driver is held then. */
export function openedDevice(options: Parameters<typeof describeNativeDevice>[0]): NativeDevice {
  const device = describeNativeDevice(options);
  device.open();
  return device;
}

import { describeHipCudaDevice, type HipCudaDevice } from '../../../src/devices/hip-cuda/index.ts';

/** A device whose driver is started and ready. Throws as `HipCudaDevice.open`; nothing of the driver is held then. */
export function openedDevice(options: Parameters<typeof describeHipCudaDevice>[0]): HipCudaDevice {
  const device = describeHipCudaDevice(options);
  device.open();
  return device;
}

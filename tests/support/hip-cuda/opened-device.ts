import { describeHipCudaDevice, type HipCudaDevice } from '../../../src/devices/hip-cuda/index.ts';

/** A device with a started driver. Throws like `HipCudaDevice.open`, and then holds nothing of the driver. */
export function openedDevice(options: Parameters<typeof describeHipCudaDevice>[0]): HipCudaDevice {
  const device = describeHipCudaDevice(options);
  device.open();
  return device;
}

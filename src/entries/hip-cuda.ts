import type { Device } from '../device/index.ts';
import { HipCudaDevice } from '../devices/hip-cuda/index.ts';

/** `rocmforge/hip-cuda`: what an open HIP or CUDA GPU has beyond the contract of all devices. `openDevice` opens one. */
export type {
  DeviceAttributes,
  HipCudaBuffer,
  HipCudaDevice,
  HipCudaPinned,
  HipEvent,
  HipStream,
  LinkOptions,
  PeerLinkOptions,
} from '../devices/hip-cuda/index.ts';

/** Whether a device is a GPU under HIP or CUDA: its streams are `HipStream`s, their events `HipEvent`s. */
export function isHipCudaDevice(device: Device): device is HipCudaDevice {
  return device instanceof HipCudaDevice;
}

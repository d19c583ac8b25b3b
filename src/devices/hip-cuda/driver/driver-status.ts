import type { Status } from './driver-calls.ts';

/** The call succeeded. */
export const SUCCESS = 0;
/** `CUDA_ERROR_INVALID_VALUE`, `hipErrorInvalidValue`. */
export const INVALID_VALUE = 1;
/** `CUDA_ERROR_OUT_OF_MEMORY`, `hipErrorOutOfMemory`. */
export const OUT_OF_MEMORY = 2;
/** `CUDA_ERROR_NO_DEVICE`, `hipErrorNoDevice`. */
export const NO_DEVICE = 100;
/** `CUDA_ERROR_INVALID_DEVICE`, `hipErrorInvalidDevice`. */
export const INVALID_DEVICE = 101;
/** `CUDA_ERROR_NOT_FOUND`, `hipErrorNotFound`: a module does not have this name. */
export const NOT_FOUND = 500;
/** `CUDA_ERROR_NOT_READY`, `hipErrorNotReady`: not an error. */
export const NOT_READY = 600;
/** `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`, `hipErrorPeerAccessAlreadyEnabled`. */
export const PEER_ACCESS_ALREADY_ENABLED = 704;

/** Statuses after which a context cannot be used any more, with the same meaning in HIP and CUDA. */
const LOST: ReadonlySet<Status> = new Set([214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719]);

/** True if the device has to be reopened. */
export function isLost(status: Status): boolean {
  return LOST.has(status);
}

/** What to do about a status, if the driver's message is not enough. Numbers of both drivers. */
const HINTS: ReadonlyMap<Status, string> = new Map([
  [1, 'an argument was refused: a bug of ours, please report it'],
  [2, 'free memory on the device or use a smaller model'],
  [3, 'the driver did not start: see whether its kernel module is loaded'],
  [9, 'the launch is larger than the GPU allows: a bug of ours, please report it'],
  [35, 'the kernel driver is older than the library: update it and restart'],
  [100, 'no GPU is visible: check the driver, and on AMD that you may use /dev/kfd (group render)'],
  [101, 'there is no device of that index: see `rocmforge devices`'],
  [200, 'the compiled kernel is damaged: remove the kernel cache'],
  [209, 'the kernel was compiled for another GPU: remove the kernel cache'],
  [217, 'the system keeps these devices from accessing each other: see IOMMU and ACS settings'],
  [218, 'the kernel was compiled by a newer compiler than the driver: update the driver'],
  [302, 'a library that the driver needs is missing: reinstall the driver'],
  [400, 'a handle was refused: a bug of ours, please report it'],
  [701, 'a kernel asks for more registers or shared memory than the GPU has: please report it'],
  [801, 'the driver does not offer this: update it'],
  [802, 'the system is not ready: on NVLink machines the fabric manager has to run'],
  [803, 'the kernel driver and the library have different versions: restart after an update'],
  [804, 'the forward-compatible driver package is not for this GPU: remove it'],
]);

/** The hint for a status. */
export function hintFor(status: Status): string {
  if (status >= 900 && status < 910)
    return 'the call is not allowed while a graph is captured: please report it';
  return HINTS.get(status) ?? 'look the status up in the documentation of the driver';
}

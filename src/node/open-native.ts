import type { Logger } from '../base/log.ts';
import { type KernelSet, type NativeDevice, openNativeDevice } from '../devices/native/index.ts';
import { type DriverName, driverLibrary } from './driver-libraries.ts';
import { openNativePlatform } from './native-platform.ts';

/** Which GPU is opened, and how its operators become kernels. */
export interface OpenNativeOptions {
  readonly driver: DriverName;
  readonly index: number;
  readonly kernels: KernelSet;
  readonly logger?: Logger;
}

/**
 * Opens a GPU of this machine. Rejects with `FFI_UNAVAILABLE`, `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND` or
 * `DEVICE_UNAVAILABLE`.
 */
export async function openNative(options: OpenNativeOptions): Promise<NativeDevice> {
  const { driver, index, kernels, logger } = options;
  const platform = await openNativePlatform(logger ? { logger } : {});
  const library = driverLibrary(platform.ffi, driver);
  return openNativeDevice({ library, ordinal: index, platform, kernels, ...(logger && { logger }) });
}

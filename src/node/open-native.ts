import { type Logger, silentLogger } from '../base/log.ts';
import { NATIVE_KERNELS, type NativeDevice, openNativeDevice } from '../devices/native/index.ts';
import { type DriverName, driverLibrary } from './driver-libraries.ts';
import { openNativePlatform } from './native-platform.ts';

/** Which GPU is opened. */
export interface OpenNativeOptions {
  readonly driver: DriverName;
  readonly index: number;
  readonly logger?: Logger | undefined;
}

/**
 * Opens a GPU of this machine. Rejects with `FFI_UNAVAILABLE`, `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND` or
 * `DEVICE_UNAVAILABLE`, nothing left open.
 */
export async function openNative(options: OpenNativeOptions): Promise<NativeDevice> {
  const { driver, index, logger = silentLogger } = options;
  const platform = await openNativePlatform({ logger });
  try {
    const library = driverLibrary(platform.ffi, driver);
    return openNativeDevice({
      library,
      ordinal: index,
      platform,
      kernels: NATIVE_KERNELS,
      logger,
      owned: platform,
    });
  } catch (error) {
    await platform[Symbol.asyncDispose]();
    throw error;
  }
}

import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Ffi } from '../device/index.ts';
import {
  NATIVE_KERNELS,
  type NativeDevice,
  openCompiler,
  openNativeDevice,
} from '../devices/native/index.ts';
import {
  COMPILERS,
  type DriverName,
  driverLibrary,
  type NativePlaces,
  startDriver,
} from './driver-libraries.ts';
import { openNativePlatform } from './native-platform.ts';

/** Which GPU is opened. */
export interface OpenNativeOptions {
  readonly driver: DriverName;
  readonly index: number;
  readonly logger?: Logger | undefined;
  readonly places?: NativePlaces;
}

/**
 * Opens a GPU of this machine, where its driver's compiler is there too. Rejects with `FFI_UNAVAILABLE`,
 * `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND` or `DEVICE_UNAVAILABLE`, nothing left open.
 */
export async function openNative(options: OpenNativeOptions): Promise<NativeDevice> {
  const { driver, index, logger = silentLogger, places = {} } = options;
  const compilers = places.compiler ? { [driver]: places.compiler } : {};
  const platform = await openNativePlatform({ logger, compilers });
  try {
    using _ = await startDriver(platform.ffi, driver, { ordinal: index, places });
    const library = driverLibrary(platform.ffi, driver, places.driver);
    requireCompiler(platform.ffi, driver, places.compiler);
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

/** A driver without its compiler runs nothing: better said now than after a model was planned. */
function requireCompiler(ffi: Ffi, driver: DriverName, libraries?: readonly string[]): void {
  try {
    openCompiler(ffi, COMPILERS[driver], libraries);
  } catch (error) {
    if (!isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) throw error;
    const why = `its kernels cannot be compiled: ${error.message}. ${error.fix}`;
    fail('DEVICE_UNAVAILABLE', { device: driver, why }, error);
  }
}

import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Ffi } from '../device/index.ts';
import {
  describeNativeDevice,
  NATIVE_KERNELS,
  type NativeDevice,
  openCompiler,
} from '../devices/hip-cuda/index.ts';
import {
  COMPILERS,
  type DriverName,
  driverLibrary,
  type NativePlaces,
  startDriver,
} from './driver-libraries.ts';
import { openNativePlatform } from './hip-cuda-platform.ts';

/** Which GPU is opened. */
export interface OpenNativeOptions {
  readonly driver: DriverName;
  readonly index: number;
  readonly logger?: Logger | undefined;
  readonly places?: NativePlaces;
  /** Is given the device while it is being readied, when `compile` may be called; that may fail yet. */
  readonly onDescribed?: ((device: NativeDevice) => void) | undefined;
}

/**
 * Opens a GPU of this machine, where its driver's compiler is there too. Rejects with `FFI_UNAVAILABLE`,
 * `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND` or `DEVICE_UNAVAILABLE`, nothing left open.
 */
export async function openNative(options: OpenNativeOptions): Promise<NativeDevice> {
  const { driver, index, logger = silentLogger, places = {}, onDescribed } = options;
  const compilers = places.compiler ? { [driver]: places.compiler } : {};
  const platform = await openNativePlatform({ logger, compilers });
  const { ffi } = platform;
  let device: NativeDevice | undefined;
  try {
    const started = await startDriver(ffi, driver, places);
    const library = driverLibrary(ffi, driver, places.driver);
    const on = { library, ordinal: index, platform, kernels: NATIVE_KERNELS };
    device = describeNativeDevice({ ...on, logger, owned: platform });
    onDescribed?.(device);
    using _ = await started.ready(index);
    requireCompiler(ffi, driver, places.compiler);
    device.open();
    return device;
  } catch (error) {
    await (device ?? platform)[Symbol.asyncDispose]();
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

import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Ffi } from '../device/index.ts';
import {
  describeHipCudaDevice,
  type DriverLibrary,
  HIP_CUDA_KERNELS,
  type HipCudaDevice,
  openCompiler,
} from '../devices/hip-cuda/index.ts';
import { type DriverName, driverLibrary, type NativePlaces, startDriver } from './driver-libraries.ts';
import { openHipCudaPlatform } from './hip-cuda-platform.ts';
import { compilerAdvice, compilerTable, libraryPlaces } from './library-places.ts';

/** Which GPU to open. */
export interface OpenHipCudaOptions {
  readonly driver: DriverName;
  readonly index: number;
  readonly logger?: Logger | undefined;
  readonly places?: NativePlaces;
  /** Receives the device while it is being initialized, when `compile` may be called; opening may still fail. */
  readonly onDescribed?: ((device: HipCudaDevice) => void) | undefined;
}

/**
 * Opens a GPU of this machine if its driver's compiler is also installed. Rejects with `FFI_UNAVAILABLE`,
 * `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND` or `DEVICE_UNAVAILABLE`, leaving nothing open.
 */
export async function openHipCuda(options: OpenHipCudaOptions): Promise<HipCudaDevice> {
  const { driver, index, logger = silentLogger, places = {}, onDescribed } = options;
  const compilers = places.compiler ? { [driver]: places.compiler } : {};
  const platform = await openHipCudaPlatform({ logger, compilers });
  const { ffi } = platform;
  let device: HipCudaDevice | undefined;
  try {
    const started = await startDriver(ffi, driver, places);
    const library = driverLibrary(ffi, driver, places.driver);
    const blasLibraries = libraryPlaces(driver, 'blas');
    const on = { library, ordinal: index, platform, kernels: HIP_CUDA_KERNELS, blasLibraries };
    device = describeHipCudaDevice({ ...on, logger, owned: platform });
    onDescribed?.(device);
    using _ = await started.ready(index);
    requireCompiler(ffi, library, places.compiler);
    device.open();
    return device;
  } catch (error) {
    await (device ?? platform)[Symbol.asyncDispose]();
    throw error;
  }
}

/** A driver without its compiler cannot run anything: better reported now than after a model was planned. */
function requireCompiler(ffi: Ffi, { api, version }: DriverLibrary, libraries?: readonly string[]): void {
  try {
    openCompiler(ffi, compilerTable(api), libraries);
  } catch (error) {
    if (!isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) throw error;
    const why = `its kernels cannot be compiled: ${error.message}. ${compilerAdvice(api, version)}`;
    fail('DEVICE_UNAVAILABLE', { device: api, why }, error);
  }
}

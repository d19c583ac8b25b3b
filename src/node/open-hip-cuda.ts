import { fail, invariant, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Ffi } from '../device/index.ts';
import {
  describeHipCudaDevice,
  type DriverLibrary,
  HIP_CUDA_KERNELS,
  type HipCudaDevice,
  type KernelSet,
  openCompiler,
} from '../devices/hip-cuda/index.ts';
import { type DriverName, driverLibrary, type NativePlaces, startDriver } from './driver-libraries.ts';
import { openHipCudaPlatform } from './hip-cuda-platform.ts';
import { compilerAdvice, compilerTable, libraryPlaces } from './library-places.ts';

/** How GPUs are opened. */
interface OpeningOptions {
  readonly driver: DriverName;
  readonly logger?: Logger | undefined;
  readonly places?: NativePlaces;
  /** What chooses the kernels. Default: ours. */
  readonly kernels?: KernelSet;
}

/** Which GPU to open. */
export interface OpenHipCudaOptions extends OpeningOptions {
  readonly index: number;
  /** Receives the device while it is being initialized, when `compile` may be called; opening may still fail. */
  readonly onDescribed?: ((device: HipCudaDevice) => void) | undefined;
}

/** Which GPUs of one driver to open. */
export interface OpenHipCudasOptions extends OpeningOptions {
  readonly indices: readonly number[];
  /** As for one. */
  readonly onDescribed?: ((devices: readonly HipCudaDevice[]) => void) | undefined;
}

/**
 * Opens a GPU of this machine if its driver's compiler is also installed. Rejects with `FFI_UNAVAILABLE`,
 * `LIBRARY_NOT_FOUND`, `SYMBOL_NOT_FOUND` or `DEVICE_UNAVAILABLE`, leaving nothing open.
 */
export async function openHipCuda({ index, onDescribed, ...of }: OpenHipCudaOptions): Promise<HipCudaDevice> {
  const describedOne = ([device]: readonly HipCudaDevice[]) => device && onDescribed?.(device);
  const [device] = await openHipCudas({ ...of, indices: [index], onDescribed: describedOne });
  invariant(device, 'as many are open as were asked for');
  return device;
}

/**
 * Opens several GPUs at once: the driver initializes them on threads of its own, and kernels that they have in common are compiled once.
 * Rejects as `openHipCuda`, leaving none open.
 */
export async function openHipCudas(options: OpenHipCudasOptions): Promise<readonly HipCudaDevice[]> {
  const {
    driver,
    indices,
    logger = silentLogger,
    places = {},
    kernels = HIP_CUDA_KERNELS,
    onDescribed,
  } = options;
  const compilers = places.compiler ? { [driver]: places.compiler } : {};
  const platform = await openHipCudaPlatform({ logger, compilers });
  const { ffi } = platform;
  const shares = sharesOf(platform, indices.length);
  const devices: HipCudaDevice[] = [];
  try {
    const started = await startDriver(ffi, driver, places);
    const library = driverLibrary(ffi, driver, places.driver);
    const blasLibraries = libraryPlaces(driver, 'blas');
    const collectiveLibraries = places.collectives ?? libraryPlaces(driver, 'collectives');
    const on = { library, platform, kernels, blasLibraries, collectiveLibraries, logger };
    for (const [place, ordinal] of indices.entries()) {
      devices.push(describeHipCudaDevice({ ...on, ordinal, owned: shares[place] as AsyncDisposable }));
    }
    onDescribed?.(devices);
    const ready = await Promise.all(indices.map((index) => started.ready(index)));
    try {
      requireCompiler(ffi, library, places.compiler);
      for (const device of devices) device.open();
    } finally {
      for (const one of ready) one[Symbol.dispose]();
    }
    return devices;
  } catch (error) {
    for (const open of [...devices, ...shares.slice(devices.length)]) await open[Symbol.asyncDispose]();
    throw error;
  }
}

/** So many owners' shares of something that is disposed when all of them are. */
function sharesOf(owned: AsyncDisposable, count: number): readonly AsyncDisposable[] {
  let left = count;
  const release = async () => {
    left--;
    if (left === 0) await owned[Symbol.asyncDispose]();
  };
  return Array.from({ length: count }, () => ({ [Symbol.asyncDispose]: release }));
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

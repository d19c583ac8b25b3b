import { isRocmforgeError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import type { Ffi, MemoryInfo } from '../device/index.ts';
import {
  cudaNccl,
  Driver,
  type DriverLibrary,
  hipNccl,
  NcclLibrary,
  RunTimeCompiler,
} from '../devices/hip-cuda/index.ts';
import { type DriverName, driverLibrary, type NativePlaces } from './driver-libraries.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';
import { compilerAdvice, compilerTable, libraryPlaces } from './library-places.ts';

/** A GPU as shown by `rocmforge devices`, or why a driver or a GPU cannot be used. */
export interface HipCudaDeviceReport {
  /** `hip:0`; `hip` if the driver itself cannot be used. */
  readonly device: string;
  readonly backend: DriverName;
  readonly name?: string;
  readonly details?: Readonly<Record<string, string | number>>;
  readonly memory?: MemoryInfo;
  readonly error?: string;
}

/**
 * Every GPU of a driver, each initialized briefly to query its memory. A driver that is missing, or that starts without
 * a GPU, is one entry with the reason. Never rejects.
 */
export async function reportHipCudaDevices(
  backend: DriverName,
  places: NativePlaces = {},
): Promise<HipCudaDeviceReport[]> {
  try {
    const ffi = await loadKoffiFfi();
    const library = driverLibrary(ffi, backend, places.driver);
    const compiler = compilerVersion(ffi, library, places.compiler);
    const shared = { compiler, ...collectivesOf(ffi, library, places.collectives) };
    return Array.from({ length: library.deviceCount }, (_, index) => reportDevice(library, index, shared));
  } catch (error) {
    return [{ device: backend, backend, error: reasonOf(error) }];
  }
}

function reportDevice(
  library: DriverLibrary,
  index: number,
  shared: Readonly<Record<string, string>>,
): HipCudaDeviceReport {
  const driver = new Driver(library, { ordinal: index, logger: silentLogger, onLost: () => {} });
  const { device } = driver;
  const backend = library.api;
  try {
    const name = driver.name();
    const details = {
      target: driver.target(),
      bus: driver.busId(),
      multiprocessors: driver.attribute('multiprocessors'),
      driver: library.version,
      library: library.file,
      ...shared,
      ...peersOf(driver),
    };
    driver.retain();
    try {
      return { device, backend, name, details, memory: driver.memoryInfo() };
    } finally {
      driver.release();
    }
  } catch (error) {
    return { device, backend, error: reasonOf(error) };
  }
}

/** The other GPUs of the driver: whether this one can access their memory, and over which link. */
function peersOf(driver: Driver): { readonly peers?: string } {
  const { api, deviceCount } = driver.library;
  const others = Array.from({ length: deviceCount }, (_, peer) => peer).filter(
    (peer) => peer !== driver.ordinal,
  );
  const peers = others.map((peer) => {
    const access = driver.canAccessPeer(peer) ? 'peer access' : 'no peer access';
    return `${api}:${peer} (${access}, ${driver.peerLink(peer)})`;
  });
  return peers.length > 0 ? { peers: peers.join('; ') } : {};
}

/** NCCL or RCCL, which links several GPUs without peer access, or why it cannot be used. */
function collectivesOf(
  ffi: Ffi,
  { api, deviceCount }: DriverLibrary,
  libraries: readonly string[] = libraryPlaces(api, 'collectives'),
): { readonly collectives?: string } {
  if (deviceCount < 2) return {};
  try {
    using library = new NcclLibrary(ffi, api === 'cuda' ? cudaNccl : hipNccl, libraries);
    return { collectives: library.description };
  } catch (error) {
    return { collectives: isRocmforgeError(error) ? error.message : reasonOf(error) };
  }
}

/** The run-time compiler's version and file, or why there is none. */
function compilerVersion(ffi: Ffi, { api, version }: DriverLibrary, libraries?: readonly string[]): string {
  try {
    return new RunTimeCompiler(ffi, compilerTable(api), libraries).version;
  } catch (error) {
    if (!isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) return reasonOf(error);
    return `${error.message}. ${compilerAdvice(api, version)}`;
  }
}

function reasonOf(error: unknown): string {
  if (isRocmforgeError(error)) return `${error.message}. ${error.fix}`;
  return error instanceof Error ? error.message : String(error);
}

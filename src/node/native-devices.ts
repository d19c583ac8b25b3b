import { isRocmforgeError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import type { Ffi, MemoryInfo } from '../device/index.ts';
import { Driver, type DriverLibrary } from '../devices/native/index.ts';
import { type DriverName, type DriverPlaces, driverLibrary } from './driver-libraries.ts';

/** A GPU as `rocmforge devices` shows it, or why a driver or a GPU cannot be used. */
export interface NativeDeviceReport {
  readonly backend: DriverName;
  /** Its number for `--device hip:1`; undefined where the driver itself cannot be used. */
  readonly index?: number;
  readonly name?: string;
  readonly details?: Readonly<Record<string, string | number>>;
  readonly memory?: MemoryInfo;
  readonly error?: string;
}

/**
 * Every GPU of the machine under HIP and under CUDA, each readied for a moment to be asked for its memory. A driver that is
 * not there, or that starts for no GPU, is one entry with the reason. Never throws.
 */
export function reportNativeDevices(ffi: Ffi, places: DriverPlaces = {}): NativeDeviceReport[] {
  return (['hip', 'cuda'] as const).flatMap((backend): NativeDeviceReport[] => {
    try {
      const library = driverLibrary(ffi, backend, places);
      return Array.from({ length: library.deviceCount }, (_, index) => reportDevice(library, index));
    } catch (error) {
      return [{ backend, error: reasonOf(error) }];
    }
  });
}

function reportDevice(library: DriverLibrary, index: number): NativeDeviceReport {
  const backend = library.api;
  const driver = new Driver(library, { ordinal: index, logger: silentLogger, onLost: () => {} });
  try {
    const name = driver.name();
    const details = {
      target: driver.target(),
      bus: driver.busId(),
      multiprocessors: driver.attribute('multiprocessors'),
      driver: library.version,
      library: library.file,
    };
    driver.retain();
    try {
      return { backend, index, name, details, memory: driver.memoryInfo() };
    } finally {
      driver.release();
    }
  } catch (error) {
    return { backend, index, error: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (isRocmforgeError(error)) return `${error.message}. ${error.fix}`;
  return error instanceof Error ? error.message : String(error);
}

import type { Ffi } from '../device/index.ts';
import { cudaCompiler, hipCompiler } from '../devices/hip-cuda/compiler/compiler-table.ts';
import { cudaDriver } from '../devices/hip-cuda/driver/cuda-driver.ts';
import { DriverLibrary } from '../devices/hip-cuda/driver/driver-library.ts';
import { hipDriver } from '../devices/hip-cuda/driver/hip-driver.ts';

/** The drivers that there are tables for. */
export type DriverName = 'hip' | 'cuda';

/** Where a driver and its compiler are looked for, if not in the usual places. */
export interface NativePlaces {
  readonly driver?: readonly string[];
  readonly compiler?: readonly string[];
}

const TABLES = { hip: hipDriver, cuda: cudaDriver } as const;

/** The compilers that go with the drivers. */
export const COMPILERS = { hip: hipCompiler, cuda: cudaCompiler } as const;

/** Drivers that were started, and opened ones, by name and place. A thread has one each: it keeps track of the thread's current GPU. */
const started = new Map<string, Promise<StartedDriver>>();
const opened = new Map<string, DriverLibrary>();

/** A driver whose devices can be asked for their facts, unless it started for none: that is for whoever opens it to find. */
export interface StartedDriver {
  /**
   * Readies a device, so that opening it finds that done, and reads the compiler's library meanwhile. The device may leave
   * again when what this resolves with is disposed.
   */
  ready(ordinal: number): Promise<Disposable>;
}

/**
 * Starts a driver without the calling thread, which can do something else for the tenth of a second that it takes, and for
 * the other one that it takes to ready a device: once for a process, whoever asks. Rejects with `LIBRARY_NOT_FOUND` or
 * `SYMBOL_NOT_FOUND`.
 */
export function startDriver(ffi: Ffi, name: DriverName, places: NativePlaces = {}): Promise<StartedDriver> {
  const key = JSON.stringify([name, places.driver, places.compiler]);
  const known = started.get(key);
  if (known) return known;
  const starting = start(ffi, name, places);
  started.set(key, starting);
  // Who asks next tries again.
  starting.catch(() => started.delete(key));
  return starting;
}

async function start(ffi: Ffi, name: DriverName, places: NativePlaces): Promise<StartedDriver> {
  const table = TABLES[name];
  const { companions, libraries } = COMPILERS[name];
  const { driver = table.libraries, compiler = libraries } = places;
  if (table.isLarge) await ffi.preload(driver);
  const ready = await table.start(ffi, ffi.open(driver));
  return {
    ready: async (ordinal) => {
      // The system's loader reads one library at a time, and a driver that starts reads some: so these waited.
      const [device] = await Promise.all([ready(ordinal), ffi.preload(companions), ffi.preload(compiler)]);
      return device;
    },
  };
}

/**
 * The thread's driver of that name, looked for in `places` if not in the usual ones. Throws as `DriverLibrary` does, and
 * tries again the next time.
 */
export function driverLibrary(ffi: Ffi, name: DriverName, places?: readonly string[]): DriverLibrary {
  const key = JSON.stringify([name, places]);
  const known = opened.get(key);
  if (known) return known;
  const library = new DriverLibrary(ffi, TABLES[name], places);
  opened.set(key, library);
  return library;
}

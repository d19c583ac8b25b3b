import type { Ffi } from '../device/index.ts';
import { cudaDriver } from '../devices/hip-cuda/driver/cuda-driver.ts';
import { DriverLibrary } from '../devices/hip-cuda/driver/driver-library.ts';
import { hipDriver } from '../devices/hip-cuda/driver/hip-driver.ts';
import { libraryPlaces } from './library-places.ts';

/** The supported drivers. */
export type DriverName = 'hip' | 'cuda';

/** Where to search for a driver, its compiler, and NCCL or RCCL, instead of the usual places. */
export interface NativePlaces {
  readonly driver?: readonly string[];
  readonly compiler?: readonly string[];
  readonly collectives?: readonly string[];
}

const TABLES = { hip: hipDriver, cuda: cudaDriver } as const;

/**
 * Started and opened drivers, by name and place. Each thread has its own, because it tracks the thread's current GPU.
 */
const started = new Map<string, Promise<StartedDriver>>();
const opened = new Map<string, DriverLibrary>();

/** A driver whose devices can be queried, unless it failed to start: opening it reports that. */
export interface StartedDriver {
  /**
   * Initializes a device ahead of opening, and loads the compiler's library meanwhile. Disposing the result may release
   * the device again.
   */
  ready(ordinal: number): Promise<Disposable>;
}

/**
 * Starts a driver on another thread, so that the caller can do other work for the tenth of a second that this takes,
 * and for another one that initializing a device takes. Once per process. Rejects with `LIBRARY_NOT_FOUND` or
 * `SYMBOL_NOT_FOUND`.
 */
export function startDriver(ffi: Ffi, name: DriverName, places: NativePlaces = {}): Promise<StartedDriver> {
  const key = JSON.stringify([name, places.driver, places.compiler]);
  const known = started.get(key);
  if (known) return known;
  const starting = start(ffi, name, places);
  started.set(key, starting);
  // The next caller tries again.
  starting.catch(() => started.delete(key));
  return starting;
}

async function start(ffi: Ffi, name: DriverName, places: NativePlaces): Promise<StartedDriver> {
  const table = TABLES[name];
  const { driver = libraryPlaces(name, 'driver'), compiler = libraryPlaces(name, 'compiler') } = places;
  const companions = libraryPlaces(name, 'companion');
  if (table.isLarge) await ffi.preload(driver);
  const ready = await table.start(ffi, ffi.open(driver));
  return {
    ready: async (ordinal) => {
      // The dynamic loader loads one library at a time, and a starting driver loads several, so these are loaded
      // afterwards.
      const [device] = await Promise.all([ready(ordinal), ffi.preload(companions), ffi.preload(compiler)]);
      return device;
    },
  };
}

/**
 * The thread's driver of that name, searched in `places` if given. Throws as `DriverLibrary`, and tries again the next
 * time.
 */
export function driverLibrary(ffi: Ffi, name: DriverName, places?: readonly string[]): DriverLibrary {
  const key = JSON.stringify([name, places]);
  const known = opened.get(key);
  if (known) return known;
  const library = new DriverLibrary(ffi, TABLES[name], places ?? libraryPlaces(name, 'driver'));
  opened.set(key, library);
  return library;
}

import type { Ffi } from '../device/index.ts';
import { cudaBlas, hipBlas } from '../devices/native/blas/blas-table.ts';
import { cudaCompiler, hipCompiler } from '../devices/native/compiler/compiler-table.ts';
import { cudaDriver } from '../devices/native/driver/cuda-driver.ts';
import { DriverLibrary } from '../devices/native/driver/driver-library.ts';
import { hipDriver } from '../devices/native/driver/hip-driver.ts';

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

const BLAS = { hip: hipBlas, cuda: cudaBlas } as const;

/** Drivers that were started, and opened ones, by name and place. A thread has one each: it keeps track of the thread's current GPU. */
const starts = new Map<string, DriverStart>();
const opened = new Map<string, DriverLibrary>();

/** A driver that starts, once for a process, whoever began it. */
export interface DriverStart {
  /**
   * Resolves when devices can be asked for their facts; rejects with `SYMBOL_NOT_FOUND`. That the driver does not start is for
   * whoever opens it to find.
   */
  readonly started: Promise<void>;
  /** Readies a device, so that opening it finds that done; it may leave again when what this resolves with is disposed. */
  ready(ordinal: number): Promise<Disposable>;
}

/**
 * Starts a driver without the calling thread, which can do something else for the tenth of a second that it takes, and for
 * another one that a device takes to be readied; the libraries of the compiler and of products are read meanwhile. Throws
 * `LIBRARY_NOT_FOUND`.
 */
export function startDriver(ffi: Ffi, name: DriverName, places: NativePlaces = {}): DriverStart {
  const key = JSON.stringify([name, places.driver, places.compiler]);
  const known = starts.get(key);
  if (known) return known;
  const table = TABLES[name];
  const library = ffi.open(places.driver ?? table.libraries);
  const starting = [table.start(library), ffi.preload(places.compiler ?? COMPILERS[name].libraries)];
  void ffi.preload(BLAS[name].libraries);
  const start: DriverStart = {
    started: Promise.all(starting).then(() => {}),
    ready: (ordinal) => table.ready(ffi, library, ordinal),
  };
  starts.set(key, start);
  return start;
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

import type { Ffi } from '../device/index.ts';
import {
  cudaBlas,
  cudaCompiler,
  cudaDriver,
  DriverLibrary,
  hipBlas,
  hipCompiler,
  hipDriver,
} from '../devices/native/index.ts';

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

/** Opened drivers by name and place. A thread has one each: it keeps track of the thread's current GPU. */
const opened = new Map<string, DriverLibrary>();

const BLAS = { hip: hipBlas, cuda: cudaBlas } as const;

/**
 * Starts a driver for a GPU without the calling thread: the process can do something else for the fifth of a second that it
 * takes, and the libraries that go with it are read meanwhile. Rejects with `LIBRARY_NOT_FOUND` or `SYMBOL_NOT_FOUND`; that it starts for no GPU is for whoever opens it to find.
 */
export async function startDriver(
  ffi: Ffi,
  name: DriverName,
  { ordinal, places }: { ordinal: number; places: NativePlaces },
): Promise<Disposable> {
  const table = TABLES[name];
  const starting = table.start(ffi, ffi.open(places.driver ?? table.libraries), ordinal);
  const { libraries } = COMPILERS[name];
  await Promise.all([starting, ffi.preload(BLAS[name].libraries), ffi.preload(places.compiler ?? libraries)]);
  return starting;
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

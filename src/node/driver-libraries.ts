import type { Ffi } from '../device/index.ts';
import { cudaCompiler, cudaDriver, DriverLibrary, hipCompiler, hipDriver } from '../devices/native/index.ts';

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

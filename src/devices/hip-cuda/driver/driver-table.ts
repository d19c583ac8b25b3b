import type { Ffi, NativeLibrary, NativeType } from '../../../device/index.ts';
import type { DriverCalls } from './driver-calls.ts';
import type { ResultSpace } from './result-space.ts';

/** Everything that distinguishes one GPU driver from another. */
export interface DriverTable {
  /** The backend's name for people and for `--device`. */
  readonly api: 'hip' | 'cuda';
  /** File names of the library on Linux, the newest version first. */
  readonly libraries: readonly string[];
  /** Whether loading the library takes so long that another thread should do it. */
  readonly isLarge: boolean;
  /** `7.0.51831` from the driver's version number. */
  formatVersion(version: number): string;
  /** Throws `SYMBOL_NOT_FOUND` for a library that lacks a call. */
  bind(library: NativeLibrary, results: ResultSpace): DriverCalls;
  /**
   * Runs the slow part of `init` on another thread, ahead of it: a process starts a driver once. Failures are left for
   * `init` to report. Resolves with a function that does the same for `retain`.
   */
  start(ffi: Ffi, library: NativeLibrary): Promise<ReadyDevice>;
}

/** Initializes a device on another thread. Disposing the result may release it again. */
export type ReadyDevice = (ordinal: number) => Promise<Disposable>;

/** Binds a library's calls that return a status. */
export function statusCalls(library: NativeLibrary) {
  return <const P extends readonly NativeType[]>(symbol: string, ...parameters: P) =>
    library.bind(symbol, 'i32', parameters);
}

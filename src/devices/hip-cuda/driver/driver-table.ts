import type { Ffi, NativeLibrary, NativeType } from '../../../device/index.ts';
import type { DriverCalls } from './driver-calls.ts';
import type { ResultSpace } from './result-space.ts';

/** All that distinguishes one GPU driver from another. */
export interface DriverTable {
  /** The backend's name for people and for `--device`. */
  readonly api: 'hip' | 'cuda';
  /** File names of the library, the newest version first. */
  readonly libraries: readonly string[];
  /** Whether the library takes so long to read that another thread had better do it. */
  readonly isLarge: boolean;
  /** `7.0.51831` from what the driver gives as its version. */
  formatVersion(version: number): string;
  /** Throws `SYMBOL_NOT_FOUND` for a library that lacks a call. */
  bind(library: NativeLibrary, results: ResultSpace): DriverCalls;
  /**
   * Does on another thread what `init` takes long for, so that it finds it done: a process starts a driver once. What fails is
   * left for it to find. Resolves with what does the same for `retain`.
   */
  start(ffi: Ffi, library: NativeLibrary): Promise<ReadyDevice>;
}

/** Readies a device on another thread. It may leave again when what this resolves with is disposed. */
export type ReadyDevice = (ordinal: number) => Promise<Disposable>;

/** Binds a library's calls that return a status. */
export function statusCalls(library: NativeLibrary) {
  return <const P extends readonly NativeType[]>(symbol: string, ...parameters: P) =>
    library.bind(symbol, 'i32', parameters);
}

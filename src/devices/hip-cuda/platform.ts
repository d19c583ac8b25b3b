import type { Ffi } from '../../device/index.ts';

/** When the platform calls back. */
export interface Scheduler {
  /** As soon as other work of the thread has had its turn (Node's `setImmediate`). */
  soon(callback: () => void): void;
  /** After about this long. */
  later(callback: () => void, milliseconds: number): void;
}

/** A kernel text to compile, whole: no header is missing from it. */
export interface CompileJob {
  readonly api: 'hip' | 'cuda';
  /** Names the text in messages. */
  readonly name: string;
  readonly source: string;
  readonly options: readonly string[];
}

/** A finished compilation, or the compiler's words on why there is none. */
export type CompileResult =
  { readonly code: Uint8Array<ArrayBuffer> } | { readonly log: string; readonly code?: undefined };

/** The driver's run-time compiler, kept where it cannot take this process down with it. */
export interface KernelCompiler {
  /** Rejects with `LIBRARY_NOT_FOUND` where there is no compiler, and with `DISPOSED` where it was closed meanwhile. */
  compile(job: CompileJob): Promise<CompileResult>;
}

/** Compiled kernels kept from one run to the next. */
export interface KernelCache {
  get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Never rejects: a cache that cannot be written costs time, nothing else. */
  put(key: string, code: Uint8Array): Promise<void>;
}

/** The kernels' texts by their file names (`prelude.h`, `formats/q4_0.h`). */
export interface KernelTexts {
  /** Throws `KERNEL_MISSING` for a name that there is not. */
  read(name: string): string;
}

/** What a platform gives the HIP and CUDA device. */
export interface HipCudaPlatform {
  readonly ffi: Ffi;
  readonly scheduler: Scheduler;
  readonly compiler: KernelCompiler;
  readonly cache: KernelCache;
  readonly texts: KernelTexts;
}

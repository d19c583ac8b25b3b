import type { UnsharedBytes } from '../../base/web-types.ts';
import type { Ffi } from '../../device/index.ts';

/** The platform's callbacks. */
export interface Scheduler {
  /** After other pending work of the thread (Node's `setImmediate`). */
  soon(callback: () => void): void;
  /** After about this long. */
  later(callback: () => void, milliseconds: number): void;
}

/** A kernel source to compile, complete: no header is missing from it. */
export interface CompileJob {
  readonly api: 'hip' | 'cuda';
  /** The name of the source in messages. */
  readonly name: string;
  readonly source: string;
  readonly options: readonly string[];
}

/** A finished compilation, or the compiler's error log. */
export type CompileResult =
  { readonly code: UnsharedBytes } | { readonly log: string; readonly code?: undefined };

/** The driver's run-time compiler, in a process of its own, so that its crashes do no harm. */
export interface KernelCompiler {
  /** Rejects with `LIBRARY_NOT_FOUND` if there is no compiler, and with `DISPOSED` if it is closed meanwhile. */
  compile(job: CompileJob): Promise<CompileResult>;
}

/** Compiled kernels, kept between runs. */
export interface KernelCache {
  get(key: string): Promise<UnsharedBytes | undefined>;
  /** Never rejects: a cache that cannot be written only costs time. */
  put(key: string, code: Uint8Array): Promise<void>;
}

/** The kernel sources by file name (`prelude.h`, `formats/q4_0.h`). */
export interface KernelTexts {
  /** Throws `KERNEL_MISSING` for an unknown name. */
  read(name: string): string;
}

/** What a platform provides to the HIP and CUDA device. */
export interface HipCudaPlatform {
  readonly ffi: Ffi;
  readonly scheduler: Scheduler;
  readonly compiler: KernelCompiler;
  readonly cache: KernelCache;
  readonly texts: KernelTexts;
}

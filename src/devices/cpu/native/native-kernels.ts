import type { WasmMemory } from '../../../base/web-types.ts';
import type { Address, Ffi, NativeLibrary } from '../../../device/index.ts';
import type { KernelExports, MatMatKernel, MatVecKernel } from '../kernel-exports.ts';

/** A library of native kernels that fits the processor. */
export interface NativeBuild {
  /** The variant's name: `avx512-vnni`. */
  readonly variant: string;
  /** The library's file. */
  readonly path: string;
}

/** Calls into native libraries from a worker's own thread. */
export type FfiLoader = () => Promise<Ffi>;

/** The exports other than products that have native kernels, with how many numbers they take. */
export const NATIVE_EXPORTS = { attention: 13, quantize: 7, gated: 5 } as const;

export type NativeExport = keyof typeof NATIVE_EXPORTS;

type NativeKernel = MatVecKernel & MatMatKernel & KernelExports[NativeExport];

/** The numbers that a kernel takes, by the first word of its name. */
const PARAMETERS: Readonly<Record<string, number>> = { matvec: 8, matmat: 9, ...NATIVE_EXPORTS };

/**
 * Makes a native kernel callable as the WebAssembly export whose place it takes: with the same numbers, addresses among them, behind
 * the memory's own address. Steps make thousands of calls, and nothing is allocated for one: a worker that collects garbage in the
 * middle of a step holds up all others.
 */
function bindKernel(library: NativeLibrary, name: string, base: Address): NativeKernel | undefined {
  const [kind = ''] = name.split('_');
  const count = PARAMETERS[kind];
  if (count === undefined || !library.has(name)) return undefined;
  const call = library.bind(name, 'void', [
    'address',
    ...Array.from({ length: count }, () => 'u32' as const),
  ]);
  return (...numbers: readonly number[]) => {
    call(base, ...numbers);
  };
}

/**
 * The kernels of a native library over one WebAssembly memory, by the names of the exports that they replace; those that it lacks
 * stay with WebAssembly. They work in place: a shared memory never moves, not even when it grows.
 */
export class NativeKernels {
  readonly #library: NativeLibrary;
  readonly #base: Address;
  readonly #bound = new Map<string, NativeKernel | undefined>();

  /** Throws `LIBRARY_NOT_FOUND`. */
  constructor(ffi: Ffi, { path }: NativeBuild, memory: WasmMemory) {
    this.#library = ffi.open([path]);
    this.#base = ffi.addressOf(new Uint8Array(memory.buffer));
  }

  /** The native kernel of this name; undefined if there is none. */
  kernel(name: string): NativeKernel | undefined {
    if (!this.#bound.has(name)) this.#bound.set(name, bindKernel(this.#library, name, this.#base));
    return this.#bound.get(name);
  }
}

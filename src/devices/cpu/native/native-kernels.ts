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
export const NATIVE_EXPORTS = { attention: 13, quantize: 9, gated: 7 } as const;

export type NativeExport = keyof typeof NATIVE_EXPORTS;

type NativeKernel = MatVecKernel & MatMatKernel & KernelExports[NativeExport];

/** The numbers that a kernel takes, by the first word of its name. */
const PARAMETERS: Readonly<Record<string, number>> = { matvec: 8, matmat: 9, ...NATIVE_EXPORTS };

/** A kernel as the library has it: behind the addresses of a memory, and of the one that a product's matrix is in. */
type LibraryKernel = (...numbers: readonly Address[]) => void;

function isProduct(name: string): boolean {
  return name.startsWith('matvec_') || name.startsWith('matmat_');
}

function bindKernel(library: NativeLibrary, name: string): LibraryKernel | undefined {
  const [kind = ''] = name.split('_');
  const count = PARAMETERS[kind];
  if (count === undefined || !library.has(name)) return undefined;
  const bases = Array.from({ length: isProduct(name) ? 2 : 1 }, () => 'address' as const);
  const numbers = Array.from({ length: count }, () => 'u32' as const);
  return library.bind(name, 'void', [...bases, ...numbers]) as LibraryKernel;
}

/**
 * The kernels of a native library over one WebAssembly memory, by the names of the exports that they replace; those that it lacks
 * stay with WebAssembly. They work in place: a shared memory never moves, not even when it grows. Each is called as the export whose
 * place it takes, with the same numbers, addresses among them. Steps make thousands of calls, and nothing is allocated for one: a worker
 * that collects garbage in the middle of a step holds up all others.
 */
export class NativeKernels {
  readonly #library: NativeLibrary;
  readonly #base: Address;
  readonly #bound = new Map<string, LibraryKernel | undefined>();

  /** Throws `LIBRARY_NOT_FOUND`. */
  constructor(ffi: Ffi, { path }: NativeBuild, memory: WasmMemory) {
    this.#library = ffi.open([path]);
    this.#base = ffi.addressOf(new Uint8Array(memory.buffer));
  }

  /** The native kernel of this name; undefined if there is none. Of a product, with the matrix in the memory of `matrices`. */
  kernel(name: string, matrices: NativeKernels = this): NativeKernel | undefined {
    if (!this.#bound.has(name)) this.#bound.set(name, bindKernel(this.#library, name));
    const kernel = this.#bound.get(name);
    if (!kernel) return undefined;
    const [base, other] = [this.#base, matrices.#base];
    if (!isProduct(name)) return (...numbers: readonly number[]) => kernel(base, ...numbers);
    return (...numbers: readonly number[]) => kernel(base, other, ...numbers);
  }
}

import type { WasmMemory } from '../../../base/web-types.ts';
import type { Address, Ffi, NativeLibrary } from '../../../device/index.ts';
import type { MatMatKernel, MatVecKernel } from '../kernel-exports.ts';

/** A library of native kernels that fits the processor. */
export interface NativeBuild {
  /** The variant's name: `avx512-vnni`. */
  readonly variant: string;
  /** The library's file. */
  readonly path: string;
}

/** Calls into native libraries from a worker's own thread. */
export type FfiLoader = () => Promise<Ffi>;

type NativeKernel = MatVecKernel & MatMatKernel;

/** Parameters after the three addresses (weight, activations, outputs), by the first word of a kernel's name. */
const COUNTS: Readonly<Record<string, number>> = { matvec: 5, matmat: 6 };

/** Makes a native kernel callable as the WebAssembly export whose place it takes. */
function bindKernel(library: NativeLibrary, name: string, base: Address): NativeKernel | undefined {
  const counts = COUNTS[name.slice(0, name.indexOf('_'))];
  if (counts === undefined || !library.has(name)) return undefined;
  const types = [
    'address',
    'address',
    'address',
    ...Array.from({ length: counts }, () => 'u32' as const),
  ] as const;
  const call = library.bind(name, 'void', types);
  return (packed: number, x: number, y: number, ...rest: readonly number[]) => {
    call(base + packed, base + x, base + y, ...rest);
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

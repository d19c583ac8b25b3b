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

type AttentionKernel = KernelExports['attention'];
type NativeKernel = MatVecKernel & MatMatKernel & AttentionKernel;

const ADDRESS = 'address' as const;
const COUNT = 'u32' as const;

/** Makes a native kernel callable as the WebAssembly export whose place it takes. */
type Binder = (library: NativeLibrary, name: string, base: Address) => NativeKernel;

/** Weight, activations and outputs, and so many counts. */
const bindProduct =
  (counts: number): Binder =>
  (library, name, base) => {
    const types = [ADDRESS, ADDRESS, ADDRESS, ...Array.from({ length: counts }, () => COUNT)] as const;
    const call = library.bind(name, 'void', types);
    return (packed: number, x: number, y: number, ...rest: readonly number[]) => {
      call(base + packed, base + x, base + y, ...rest);
    };
  };

/** The six addresses before the range of positions, and the base itself before them, for the addresses among the parameters. */
const bindAttention: Binder = (library, name, base) => {
  const before = [ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS] as const;
  const types = [...before, COUNT, COUNT, ADDRESS, ADDRESS, ADDRESS, COUNT, COUNT] as const;
  const call = library.bind(name, 'void', types);
  return ((
    ...[q, keys, values, out, blocks, parameters, begin, end, ...rest]: Parameters<AttentionKernel>
  ) => {
    const [scratch, keyScales, valueScales, index, own] = rest;
    const [from, to] = [base + q, base + out];
    const work = base + scratch;
    const [cells, table, scores] = [base + keys, base + blocks, base + parameters];
    const scales = [base + keyScales, base + valueScales] as const;
    call(base, from, cells, base + values, to, table, scores, begin, end, work, ...scales, index, own);
  }) as NativeKernel;
};

/** By the first word of a kernel's name. */
const BINDERS: Readonly<Record<string, Binder>> = {
  matvec: bindProduct(5),
  matmat: bindProduct(6),
  attention: bindAttention,
};

function bindKernel(library: NativeLibrary, name: string, base: Address): NativeKernel | undefined {
  const [kind = ''] = name.split('_');
  return library.has(name) ? BINDERS[kind]?.(library, name, base) : undefined;
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

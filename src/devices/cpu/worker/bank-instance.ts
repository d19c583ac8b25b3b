import type { WasmMemory, WasmModule } from '../../../base/web-types.ts';
import { invariant } from '../../../base/errors.ts';
import type { Ffi } from '../../../device/index.ts';
import type { KernelExports } from '../kernel-exports.ts';
import { type NativeBuild, NativeKernels } from '../native/native-kernels.ts';
import { scratchOf } from '../protocol/reserved.ts';
import { type LayoutTable, WEIGHT_LAYOUTS } from '../weight-layouts.ts';

type Kernel = (...args: number[]) => void;

/** A native library, and how it is called. */
export interface NativeSource {
  readonly build: NativeBuild;
  readonly ffi: Ffi;
}

/** Whose instance it is, and the native kernels that it takes. */
export interface InstanceOptions {
  readonly worker: number;
  readonly native?: NativeSource | undefined;
  /** The layouts of matrices. Default: those that all kernels read. */
  readonly layouts?: LayoutTable | undefined;
}

/** The kernels over one bank, with this worker's scratch in it. */
export class BankInstance {
  readonly kernels: KernelExports;
  readonly layouts: LayoutTable;
  /** `SCRATCH_BYTES` that no other worker uses. */
  readonly scratch: number;
  readonly #memory: WasmMemory;
  readonly #exports: WebAssembly.Exports;
  #native: NativeKernels | undefined;

  constructor(kernels: WasmModule, memory: WasmMemory, of: InstanceOptions) {
    const abort = () => invariant(false, 'a kernel does not abort');
    this.#memory = memory;
    this.layouts = of.layouts ?? WEIGHT_LAYOUTS;
    if (of.native) this.takeNative(of.native);
    this.#exports = new WebAssembly.Instance(kernels, { env: { memory, abort } }).exports;
    this.kernels = this.#exports as unknown as KernelExports;
    this.scratch = scratchOf(this.kernels.heapBase(), of.worker);
  }

  /** Gives native kernels to those who ask for a kernel from now on. */
  takeNative({ build, ffi }: NativeSource): void {
    this.#native = new NativeKernels(ffi, build, this.#memory);
  }

  /**
   * A kernel selected by name, as in `WeightLayout`: the native one where there is one. One of a product takes the matrix out of the bank
   * of `matrices`, which has to be this one where there is no native kernel.
   */
  kernel<K = Kernel>(name: string, matrices: BankInstance = this): K {
    const native = this.#native?.kernel(name, matrices.#native);
    invariant(matrices === this || (native && matrices.#native), `${name} reaches the bank of its matrix`);
    const kernel = native ?? this.#exports[name];
    invariant(typeof kernel === 'function', `the kernels export ${name}`);
    return kernel as K;
  }

  /** Whether `kernel` gives a native kernel. */
  isNative(name: string): boolean {
    return this.#native?.kernel(name) !== undefined;
  }

  bytes(offset: number, byteLength: number): Uint8Array {
    return new Uint8Array(this.#reach(offset + byteLength), offset, byteLength);
  }

  words(offset: number, length: number): Int32Array {
    return new Int32Array(this.#reach(offset + 4 * length), offset, length);
  }

  floats(offset: number, length: number): Float32Array {
    return new Float32Array(this.#reach(offset + 4 * length), offset, length);
  }

  /** The memory's buffer; the host may have grown it without this worker's knowledge. */
  #reach(end: number): ArrayBufferLike {
    if (this.#memory.buffer.byteLength < end) this.#memory.grow(0);
    return this.#memory.buffer;
  }
}

import { readFileSync } from 'node:fs';
import type {
  DecodeKernel,
  KernelExports,
  MatMatKernel,
  MatVecKernel,
  PackKernel,
} from '../../src/devices/cpu/kernel-exports.ts';
import type { NativeOffer } from '../../src/devices/cpu/index.ts';
import { NATIVE_EXPORTS, NativeKernels } from '../../src/devices/cpu/native/native-kernels.ts';
import { allowRelaxedSimd } from '../../src/node/open-cpu.ts';

allowRelaxedSimd();

/** The native kernels that are no products. */
function nativeOnes(native: NativeKernels): Partial<KernelExports> {
  const names = Object.keys(NATIVE_EXPORTS);
  return Object.fromEntries(
    names.flatMap((name) => {
      const kernel = native.kernel(name);
      return kernel ? [[name, kernel]] : [];
    }),
  );
}

export type KernelVariant = 'relaxed' | 'baseline';

const MEMORY_PAGES = 512;
/** Bytes around every allocation that must stay unchanged. */
const GUARD = 64;
const GUARD_BYTE = 0xa5;

/** The kernels over their own memory, with a bump allocator that guards its blocks. */
export class KernelBench {
  readonly memory = new WebAssembly.Memory({ initial: MEMORY_PAGES, maximum: 65535, shared: true });
  readonly bytes = new Uint8Array(this.memory.buffer);
  readonly kernels: KernelExports;
  readonly #exports: WebAssembly.Exports;
  readonly #blocks: { at: number; byteLength: number }[] = [];
  #next: number;

  readonly #native: NativeKernels | undefined;

  /** With `native`, its kernels take the place of those of the same name. */
  constructor(
    readonly variant: KernelVariant,
    native?: NativeOffer,
  ) {
    this.#native = native && new NativeKernels(native.ffi, native.build, this.memory);
    const file = new URL(`../../src/devices/cpu/kernels.${variant}.wasm`, import.meta.url);
    const module = new WebAssembly.Module(readFileSync(file));
    this.#exports = new WebAssembly.Instance(module, { env: { memory: this.memory } }).exports;
    const kernels = this.#exports as unknown as KernelExports;
    this.kernels = this.#native ? { ...kernels, ...nativeOnes(this.#native) } : kernels;
    this.#next = this.kernels.heapBase();
  }

  /** `byteLength` bytes of 0xff (NaN as f32), `shift` bytes, a multiple of 16, after a multiple of 64. */
  alloc(byteLength: number, shift = 0): number {
    const at = Math.ceil((this.#next + GUARD) / 64) * 64 + shift;
    this.#next = at + byteLength + GUARD;
    this.bytes.fill(GUARD_BYTE, at - GUARD, this.#next);
    this.bytes.fill(0xff, at, at + byteLength);
    this.#blocks.push({ at, byteLength });
    return at;
  }

  /** Memory with a copy of `data`. */
  put(data: Uint8Array | Float32Array | Int32Array | Uint16Array, shift = 0): number {
    const at = this.alloc(data.byteLength, shift);
    this.bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    return at;
  }

  floats(at: number, count: number): Float32Array {
    return new Float32Array(this.memory.buffer, at, count).slice();
  }

  /** Throws when a kernel wrote outside an allocation. */
  checkGuards(): void {
    for (const { at, byteLength } of this.#blocks) {
      for (let i = 1; i <= GUARD; i++) {
        if (this.bytes[at - i] !== GUARD_BYTE) throw new Error(`wrote ${i} bytes before an operand`);
        if (this.bytes[at + byteLength + i - 1] !== GUARD_BYTE) {
          throw new Error(`wrote ${i} bytes behind an operand of ${byteLength}`);
        }
      }
    }
  }

  /** Frees everything. */
  reset(): void {
    this.checkGuards();
    this.#blocks.length = 0;
    this.#next = this.kernels.heapBase();
  }

  decode(name: string): DecodeKernel {
    return this.#kernel(name) as DecodeKernel;
  }

  pack(name: string): PackKernel {
    return this.#kernel(name) as PackKernel;
  }

  matVec(name: string): MatVecKernel {
    return this.#kernel(name) as MatVecKernel;
  }

  matMat(name: string): MatMatKernel {
    return this.#kernel(name) as MatMatKernel;
  }

  #kernel(name: string): unknown {
    const kernel = this.#native?.kernel(name) ?? this.#exports[name];
    if (typeof kernel !== 'function') throw new Error(`the kernels have no ${name}`);
    return kernel;
  }
}

export const KERNEL_VARIANTS: readonly KernelVariant[] = ['relaxed', 'baseline'];

import { fail } from '../../base/errors.ts';
import { dotIsRight } from './dot-check.ts';
import type { KernelExports } from './kernel-exports.ts';

/** The kernels' two builds: the package's files `rocmforge/cpu/kernels.relaxed.wasm` and `rocmforge/cpu/kernels.baseline.wasm`. */
export interface KernelBytes {
  readonly relaxed: BufferSource;
  readonly baseline: BufferSource;
}

/** The build that this runtime runs right. */
export interface KernelChoice {
  readonly module: WebAssembly.Module;
  readonly simd: 'relaxed' | 'baseline';
  /** The first address that the kernels leave free. */
  readonly heapBase: number;
}

/** Takes relaxed SIMD where it is wanted, there, and right; baseline SIMD else. Throws `DEVICE_UNAVAILABLE`. */
export async function chooseKernels(kernels: KernelBytes, wantRelaxed: boolean): Promise<KernelChoice> {
  if (wantRelaxed && WebAssembly.validate(kernels.relaxed)) {
    const choice = await open(kernels.relaxed, 'relaxed');
    if (choice) return choice;
  }
  if (!WebAssembly.validate(kernels.baseline)) {
    const why = 'the runtime has no WebAssembly SIMD or no shared memory';
    fail('DEVICE_UNAVAILABLE', { device: 'cpu', why });
  }
  const choice = await open(kernels.baseline, 'baseline');
  if (!choice) fail('DEVICE_UNAVAILABLE', { device: 'cpu', why: 'a dot product comes out wrong' });
  return choice;
}

/** Compiles a build; undefined when its dot product is wrong. */
async function open(bytes: BufferSource, simd: KernelChoice['simd']): Promise<KernelChoice | undefined> {
  const module = await WebAssembly.compile(bytes);
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 65535, shared: true });
  const abort = () => {};
  const { exports } = await WebAssembly.instantiate(module, { env: { memory, abort } });
  const heapBase = (exports as unknown as KernelExports).heapBase();
  return dotIsRight(exports, memory) ? { module, simd, heapBase } : undefined;
}

import type { WasmModule, WasmSource } from '../../base/web-types.ts';
import { fail } from '../../base/errors.ts';
import { dotIsRight } from './dot-check.ts';
import type { KernelExports } from './kernel-exports.ts';

/** The kernels' two builds: the package's files `rocmforge/cpu/kernels.relaxed.wasm` and `rocmforge/cpu/kernels.baseline.wasm`. */
export interface KernelBytes {
  readonly relaxed: WasmSource;
  readonly baseline: WasmSource;
}

/** The build that runs correctly on this runtime. */
export interface KernelChoice {
  readonly module: WasmModule;
  readonly simd: 'relaxed' | 'baseline';
  /** The first address that the kernels do not use. */
  readonly heapBase: number;
}

/**
 * Chooses relaxed SIMD if it is wanted, available and correct, otherwise baseline SIMD. Throws `DEVICE_UNAVAILABLE`.
 */
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

/** Compiles a build; undefined if its dot product is wrong. */
async function open(bytes: WasmSource, simd: KernelChoice['simd']): Promise<KernelChoice | undefined> {
  const module = await WebAssembly.compile(bytes);
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 65535, shared: true });
  const abort = () => {};
  const { exports } = await WebAssembly.instantiate(module, { env: { memory, abort } });
  const heapBase = (exports as unknown as KernelExports).heapBase();
  return dotIsRight(exports, memory) ? { module, simd, heapBase } : undefined;
}

import type { WasmExports, WasmMemory, WasmModule, WasmSource } from '../../base/web-types.ts';
import { fail } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import type { Ffi } from '../../device/index.ts';
import { dotIsRight } from './dot-check.ts';
import type { KernelExports } from './kernel-exports.ts';
import { wrongNativeKernel } from './native/native-check.ts';
import { type NativeBuild, NativeKernels } from './native/native-kernels.ts';

/** The kernels' two builds: the package's files `rocmforge/cpu/kernels.relaxed.wasm` and `rocmforge/cpu/kernels.baseline.wasm`. */
export interface KernelBytes {
  readonly relaxed: WasmSource;
  readonly baseline: WasmSource;
}

/** Native kernels to be used where their results are right. */
export interface NativeOffer {
  readonly build: NativeBuild;
  readonly ffi: Ffi;
  /** Whether the device is refused without them. */
  readonly required: boolean;
}

/** What kernels to choose from. */
export interface KernelOffer {
  readonly kernels: KernelBytes;
  readonly relaxed?: boolean | undefined;
  readonly native?: NativeOffer | undefined;
  readonly logger?: Logger | undefined;
}

/** The build that runs correctly on this runtime. */
export interface KernelChoice {
  readonly module: WasmModule;
  readonly simd: 'relaxed' | 'baseline';
  /** The first address that the kernels do not use. */
  readonly heapBase: number;
  /** The native kernels that take the place of those of the same name. */
  readonly native?: NativeBuild | undefined;
}

/**
 * Chooses relaxed SIMD if it is wanted (the default), available and correct, otherwise baseline SIMD; and native kernels if their
 * results are the same. Throws `DEVICE_UNAVAILABLE`.
 */
export async function chooseKernels({
  kernels,
  relaxed,
  native,
  logger,
}: KernelOffer): Promise<KernelChoice> {
  const { exports, memory, ...choice } = await chooseWasm(kernels, relaxed ?? true);
  if (!native) return choice;
  const { build, ffi, required } = native;
  const wrong = wrongNativeKernel(exports, memory, new NativeKernels(ffi, build, memory));
  if (wrong === undefined) return { ...choice, native: build };
  const why = `the native kernel ${wrong} for ${build.variant} gives another result than its WebAssembly one`;
  if (required) fail('DEVICE_UNAVAILABLE', { device: 'cpu', why });
  (logger ?? silentLogger).warn('native kernels are not used', { reason: why });
  return choice;
}

/** A choice with an instance to try it on. */
interface Opened extends KernelChoice {
  readonly exports: WasmExports;
  readonly memory: WasmMemory;
}

async function chooseWasm(kernels: KernelBytes, wantRelaxed: boolean): Promise<Opened> {
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
async function open(bytes: WasmSource, simd: KernelChoice['simd']): Promise<Opened | undefined> {
  const module = await WebAssembly.compile(bytes);
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 65535, shared: true });
  const abort = () => {};
  const { exports } = await WebAssembly.instantiate(module, { env: { memory, abort } });
  const heapBase = (exports as unknown as KernelExports).heapBase();
  return dotIsRight(exports, memory) ? { module, simd, heapBase, exports, memory } : undefined;
}

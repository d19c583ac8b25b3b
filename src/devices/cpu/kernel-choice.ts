import type { WasmExports, WasmMemory, WasmModule, WasmSource } from '../../base/web-types.ts';
import { fail, isRocmforgeError } from '../../base/errors.ts';
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
  /** What there is in place of a library whose results are wrong. Default: nothing. */
  readonly instead?: (() => Promise<NativeFound>) | undefined;
}

/** Native kernels that are being made elsewhere while others run. */
export interface ComingNative {
  readonly ffi: Ffi;
  /** The library; undefined if it cannot be made: whoever makes it says why. Never rejects. */
  readonly built: Promise<NativeBuild | undefined>;
  /** Sets whether the wait for it keeps the process alive, which it does not at first. */
  hold(held: boolean): void;
  /** As in `NativeOffer`. */
  readonly instead?: (() => Promise<NativeFound>) | undefined;
}

/** Native kernels that are there, or those that are being made; neither if there are none. */
export interface NativeFound {
  readonly native?: NativeOffer | undefined;
  readonly nativeLater?: ComingNative | undefined;
}

/** What kernels to choose from. */
export interface KernelOffer extends NativeFound {
  readonly kernels: KernelBytes;
  readonly relaxed?: boolean | undefined;
  readonly logger?: Logger | undefined;
}

/** The native kernels whose results are right. */
export interface NativeChoice {
  /** They take the place of the WebAssembly kernels of the same name. */
  readonly native?: NativeBuild | undefined;
  /** Those that may do so later. */
  readonly nativeLater?: ComingNative | undefined;
}

/** The build that runs correctly on this runtime. */
export interface KernelChoice extends NativeChoice {
  readonly module: WasmModule;
  readonly simd: 'relaxed' | 'baseline';
  /** The first address that the kernels do not use. */
  readonly heapBase: number;
}

/**
 * Chooses relaxed SIMD if it is wanted (the default), available and correct, otherwise baseline SIMD; and native kernels as
 * `chooseNative` does. Throws `DEVICE_UNAVAILABLE`.
 */
export async function chooseKernels(offer: KernelOffer): Promise<KernelChoice> {
  const choice = await chooseWasm(offer.kernels, offer.relaxed ?? true);
  return { ...choice, ...(await chooseNative(choice.module, offer, offer.logger)) };
}

/**
 * The native kernels that are there if their results are those of a WebAssembly module, or the first right ones `instead` of them; the
 * log says which are wrong. Throws `DEVICE_UNAVAILABLE` where native kernels are required, and what `instead` rejects with.
 */
export async function chooseNative(
  module: WasmModule,
  offer: NativeFound,
  logger: Logger = silentLogger,
): Promise<NativeChoice> {
  let found = offer;
  while (found.native) {
    const { build, ffi, required, instead } = found.native;
    const why = await whyNotNative(module, build, ffi);
    if (why === undefined) return { native: build };
    logger.warn('native kernels are not used', { reason: why });
    found = (await instead?.()) ?? {};
    if (required && !found.native) fail('DEVICE_UNAVAILABLE', { device: 'cpu', why });
  }
  return { nativeLater: found.nativeLater };
}

/** Results of an object, by a key. */
type Found<O extends object, K, R> = WeakMap<O, Map<K, Promise<R>>>;

/** The result that is there, or that `find` gives; one that is rejected is looked for again. */
function onceFor<O extends object, K, R>(
  found: Found<O, K, R>,
  object: O,
  key: K,
  find: () => Promise<R>,
): Promise<R> {
  const own = found.get(object) ?? new Map<K, Promise<R>>();
  found.set(object, own);
  const result = own.get(key) ?? find();
  own.set(key, result);
  result.catch(() => own.delete(key));
  return result;
}

/** What was found of libraries, by their files: a process has a library once, whatever becomes of the file. */
const compared: Found<WasmModule, string, string | undefined> = new WeakMap();

/** What is wrong with native kernels, by comparison with those of a WebAssembly module; undefined if nothing is. */
function whyNotNative(module: WasmModule, build: NativeBuild, ffi: Ffi): Promise<string | undefined> {
  return onceFor(compared, module, build.path, () => compare(module, build, ffi));
}

async function compare(module: WasmModule, build: NativeBuild, ffi: Ffi): Promise<string | undefined> {
  const { exports, memory } = await instantiate(module);
  try {
    const wrong = wrongNativeKernel(exports, memory, new NativeKernels(ffi, build, memory));
    if (wrong === undefined) return undefined;
    return `the native kernel ${wrong} for ${build.variant} gives another result than its WebAssembly one`;
  } catch (error) {
    if (isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) return error.message;
    throw error;
  }
}

/** Builds that run correctly: devices that are opened with the same bytes share what the runtime compiles of them. */
const chosen: Found<KernelBytes, boolean, KernelChoice> = new WeakMap();

function chooseWasm(kernels: KernelBytes, wantRelaxed: boolean): Promise<KernelChoice> {
  return onceFor(chosen, kernels, wantRelaxed, () => firstRight(kernels, wantRelaxed));
}

async function firstRight(kernels: KernelBytes, wantRelaxed: boolean): Promise<KernelChoice> {
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
  const { exports, memory } = await instantiate(module);
  const heapBase = (exports as unknown as KernelExports).heapBase();
  return dotIsRight(exports, memory) ? { module, simd, heapBase } : undefined;
}

/** Throws `DEVICE_UNAVAILABLE` where the address space of the process is limited: memory that can grow reserves it. */
function reserveMemory(): WasmMemory {
  try {
    return new WebAssembly.Memory({ initial: 4, maximum: 64, shared: true });
  } catch (cause) {
    const why = 'the process may not reserve memory for WebAssembly: raise or remove its limit (ulimit -v)';
    return fail('DEVICE_UNAVAILABLE', { device: 'cpu', why }, cause);
  }
}

/** An instance to try kernels on. */
async function instantiate(module: WasmModule): Promise<{ exports: WasmExports; memory: WasmMemory }> {
  const memory = reserveMemory();
  const { exports } = await WebAssembly.instantiate(module, { env: { memory, abort: () => {} } });
  return { exports, memory };
}

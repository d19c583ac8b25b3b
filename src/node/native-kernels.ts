import { join } from 'node:path';
import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Ffi } from '../device/index.ts';
import {
  type NativeBuild,
  type NativeFound,
  NATIVE_TEXTS,
  nativeVariants,
  type NativeOffer,
  type NativeVariant,
} from '../devices/cpu/index.ts';
import { CPU_KERNELS, type CpuKernels } from './cpu-kernels.ts';
import { kernelCacheFolder } from './disk-kernel-cache.ts';
import { FileClaim } from './file-claim.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';
import { compileElsewhere } from './native-compiling.ts';
import {
  NativeBuilder,
  type NativeLibraryRequest,
  nativeTexts,
  nativeUnavailable,
} from './native-builder.ts';
import { NativePackage } from './native-package.ts';

/** Which native kernels are wanted. */
export interface NativeRequest {
  readonly cpuKernels?: CpuKernels | undefined;
  /** A variant by name. Default: the best one for this processor. */
  readonly variant?: string | undefined;
  readonly logger?: Logger | undefined;
}

/** What is wanted once better variants have turned out wrong. */
interface Wanted extends NativeRequest {
  /** The first variant that is good enough, by name. Default: the first one. */
  readonly from?: string | undefined;
}

/**
 * The native kernels for this processor: those of the package for this platform, those that are kept, or with `auto` those that a process of their own compiles from now on;
 * none if they are not wanted or, with `auto`, not possible: the log says why. Rejects with `INVALID_ARGUMENT` and, with `native`, with
 * the reason: `FFI_UNAVAILABLE`, `KERNEL_COMPILE` or `DEVICE_UNAVAILABLE`.
 */
export async function findNativeKernels(request: NativeRequest): Promise<NativeFound> {
  return find(request);
}

async function find(request: Wanted): Promise<NativeFound> {
  const { cpuKernels = 'auto', logger = silentLogger } = request;
  if (!CPU_KERNELS.includes(cpuKernels)) {
    fail('INVALID_ARGUMENT', { name: 'cpuKernels', found: cpuKernels, expected: CPU_KERNELS.join(', ') });
  }
  if (cpuKernels === 'wasm') return {};
  if (cpuKernels === 'native') return { native: await build(request) };
  try {
    const ffi = await nativeFfi();
    const { builder, ready } = await librariesHere(logger);
    const there = await libraryFor(request, ffi, ready);
    if (there) return { native: offered(there, ffi, request) };
    builder.checkCompiler();
    const { done, hold } = compileElsewhere({ variant: request.from ?? request.variant }, logger);
    const built = done.then((isDone) => (isDone ? libraryFor(request, ffi, ready) : undefined));
    const library = built.catch(() => undefined);
    const instead = async () => {
      const wrong = await library;
      return (await (wrong && insteadOf(wrong, request))?.()) ?? {};
    };
    return { nativeLater: { ffi, hold, built: library.then((found) => found?.build), instead } };
  } catch (error) {
    if (!isRocmforgeError(error)) throw error;
    logger.debug('native kernels are not available', { reason: error.message });
    return {};
  }
}

/**
 * The native kernels for this processor, compiled now if they are not there. Of several processes that need them, one compiles.
 * Rejects with `FFI_UNAVAILABLE`, `KERNEL_COMPILE` or `DEVICE_UNAVAILABLE`.
 */
export async function buildNativeKernels(request: NativeRequest): Promise<NativeOffer> {
  return build({ ...request, cpuKernels: 'native' });
}

async function build(request: Wanted): Promise<NativeOffer> {
  const { logger = silentLogger } = request;
  const ffi = await nativeFfi();
  const { builder, ready } = await librariesHere(logger);
  const there = await libraryFor(request, ffi, ready);
  if (there) return offered(there, ffi, request);
  builder.checkCompiler();
  const { signal } = new AbortController();
  await using _claim = await FileClaim.take(join(kernelCacheFolder(), 'compiling'), { signal }).catch(
    (error: unknown) => nativeUnavailable(`its native kernels cannot be kept: ${String(error)}`, error),
  );
  const made = await libraryFor(
    request,
    ffi,
    async (library) => (await ready(library)) ?? builder.build(library),
  );
  return offered(made ?? nativeUnavailable('its native kernels were not built'), ffi, request);
}

function offered(library: Library, ffi: Ffi, request: Wanted): NativeOffer {
  const { build } = library;
  request.logger?.debug('native kernels ready', { ...build });
  return { build, ffi, required: request.cpuKernels === 'native', instead: insteadOf(library, request) };
}

/** What finds other kernels where those of a library are wrong: nothing where they were asked for by name. */
function insteadOf({ next }: Library, request: Wanted): NativeOffer['instead'] {
  if (next === undefined || request.variant !== undefined) return undefined;
  return () => find({ ...request, from: next });
}

/** A variant's library. */
interface Library {
  readonly build: NativeBuild;
  /** The next best variant that the processor supports, by name. */
  readonly next: string | undefined;
}

/** Finds a library's file; undefined if there is none. */
type Find = (request: NativeLibraryRequest) => Promise<string | undefined>;

/** What makes libraries, and what finds those that are there: in the package for this platform, or kept. */
async function librariesHere(logger: Logger): Promise<{ builder: NativeBuilder; ready: Find }> {
  const texts = await nativeTexts();
  const builder = new NativeBuilder(texts, logger);
  const packaged = await NativePackage.open(texts, logger);
  return { builder, ready: async (library) => (await packaged?.library(library)) ?? builder.kept(library) };
}

/** The variants for this kind of processor. */
function variantsHere(): readonly NativeVariant[] {
  return nativeVariants(process.arch, process.platform);
}

/** What calls native kernels, where there may be some. */
async function nativeFfi(): Promise<Ffi> {
  if (variantsHere().length === 0) {
    nativeUnavailable(`there are no native kernels for ${process.platform} on ${process.arch}`);
  }
  return await loadKoffiFfi();
}

/** The library of the wanted variant, or of the best one that the processor supports; undefined where `file` finds none. */
async function libraryFor({ variant, from }: Wanted, ffi: Ffi, file: Find): Promise<Library | undefined> {
  const asking = await file({ texts: NATIVE_TEXTS.features });
  if (asking === undefined) return undefined;
  const features = ffi.open([asking]).bind('features', 'u32', [])();
  const supported = variantsHere().filter(({ feature }) => (features & feature) !== 0);
  const wanted = from ?? variant;
  const index = wanted === undefined ? 0 : supported.findIndex(({ name }) => name === wanted);
  const chosen = supported[index];
  if (!chosen) {
    const names = variantsHere().map(({ name }) => name);
    return nativeUnavailable(
      `its native kernels need ${variant ?? names.join(' or ')}, which this processor lacks`,
    );
  }
  const path = await file({ texts: NATIVE_TEXTS.kernels, variant: chosen });
  if (path === undefined) return undefined;
  return { build: { variant: chosen.name, path }, next: supported[index + 1]?.name };
}

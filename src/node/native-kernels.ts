import { join } from 'node:path';
import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Ffi } from '../device/index.ts';
import {
  type ComingNative,
  type NativeBuild,
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

/** Native kernels that are there, or those that are being made. */
export interface NativeFound {
  readonly native?: NativeOffer;
  readonly nativeLater?: ComingNative;
}

/**
 * The native kernels for this processor: those of the package for this platform, those that are kept, or with `auto` those that a process of their own compiles from now on;
 * none if they are not wanted or, with `auto`, not possible: the log says why. Rejects with `INVALID_ARGUMENT` and, with `native`, with
 * the reason: `FFI_UNAVAILABLE`, `KERNEL_COMPILE` or `DEVICE_UNAVAILABLE`.
 */
export async function findNativeKernels(request: NativeRequest): Promise<NativeFound> {
  const { cpuKernels = 'auto', logger = silentLogger } = request;
  if (!CPU_KERNELS.includes(cpuKernels)) {
    fail('INVALID_ARGUMENT', { name: 'cpuKernels', found: cpuKernels, expected: CPU_KERNELS.join(', ') });
  }
  if (cpuKernels === 'wasm') return {};
  if (cpuKernels === 'native') return { native: await buildNativeKernels(request) };
  try {
    const ffi = await nativeFfi();
    const { builder, ready } = await librariesHere(logger);
    const build = await libraryFor(request, ffi, ready);
    if (build) return { native: offered(build, ffi, { required: false, logger }) };
    builder.checkCompiler();
    const { done, hold } = compileElsewhere(request, logger);
    const built = done.then((isDone) => (isDone ? libraryFor(request, ffi, ready) : undefined));
    return { nativeLater: { ffi, hold, built: built.catch(() => undefined) } };
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
  const { logger = silentLogger } = request;
  const ffi = await nativeFfi();
  const { builder, ready } = await librariesHere(logger);
  const options = { required: true, logger };
  const there = await libraryFor(request, ffi, ready);
  if (there) return offered(there, ffi, options);
  builder.checkCompiler();
  const { signal } = new AbortController();
  await using _claim = await FileClaim.take(join(kernelCacheFolder(), 'compiling'), { signal }).catch(
    (error: unknown) => nativeUnavailable(`its native kernels cannot be kept: ${String(error)}`, error),
  );
  const build = await libraryFor(
    request,
    ffi,
    async (library) => (await ready(library)) ?? builder.build(library),
  );
  return offered(build ?? nativeUnavailable('its native kernels were not built'), ffi, options);
}

function offered(
  build: NativeBuild,
  ffi: Ffi,
  { required, logger }: { required: boolean; logger: Logger },
): NativeOffer {
  logger.debug('native kernels ready', { ...build });
  return { build, ffi, required };
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

/** The library of the wanted variant, or of the best one that the processor supports; undefined where `find` finds none. */
async function libraryFor(
  { variant }: NativeRequest,
  ffi: Ffi,
  find: Find,
): Promise<NativeBuild | undefined> {
  const asking = await find({ texts: NATIVE_TEXTS.features });
  if (asking === undefined) return undefined;
  const features = ffi.open([asking]).bind('features', 'u32', [])();
  const chosen = variantsHere()
    .filter(({ feature }) => (features & feature) !== 0)
    .find(({ name }) => name === (variant ?? name));
  if (!chosen) {
    const names = variantsHere().map(({ name }) => name);
    return nativeUnavailable(
      `its native kernels need ${variant ?? names.join(' or ')}, which this processor lacks`,
    );
  }
  const path = await find({ texts: NATIVE_TEXTS.kernels, variant: chosen });
  return path === undefined ? undefined : { variant: chosen.name, path };
}

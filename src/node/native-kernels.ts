import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fail, isRocmforgeError } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Ffi } from '../device/index.ts';
import {
  NATIVE_FLAGS,
  NATIVE_TEXTS,
  NATIVE_VARIANTS,
  type NativeOffer,
  type NativeVariant,
} from '../devices/cpu/index.ts';
import { CPU_KERNELS, type CpuKernels } from './cpu-kernels.ts';
import { kernelCacheFolder } from './disk-kernel-cache.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';
import { packageFile } from './package-file.ts';

/** Which native kernels are wanted. */
export interface NativeRequest {
  readonly cpuKernels?: CpuKernels | undefined;
  /** A variant by name. Default: the best one for this processor. */
  readonly variant?: string | undefined;
  readonly logger?: Logger | undefined;
}

/**
 * The native kernels for this processor, compiled on first use in a process of their own and kept by hash; undefined if they are not
 * wanted or, with `auto`, not possible: the log says why. Rejects with `INVALID_ARGUMENT` and, with `native`, with the reason:
 * `FFI_UNAVAILABLE`, `KERNEL_COMPILE` or `DEVICE_UNAVAILABLE`.
 */
export async function openNativeKernels(request: NativeRequest): Promise<NativeOffer | undefined> {
  const { cpuKernels = 'auto', logger = silentLogger } = request;
  if (!CPU_KERNELS.includes(cpuKernels)) {
    fail('INVALID_ARGUMENT', { name: 'cpuKernels', found: cpuKernels, expected: CPU_KERNELS.join(', ') });
  }
  if (cpuKernels === 'wasm') return undefined;
  try {
    return await offer(request, logger);
  } catch (error) {
    if (cpuKernels === 'native' || !isRocmforgeError(error)) throw error;
    logger.debug('native kernels are not available', { reason: error.message });
    return undefined;
  }
}

async function offer({ cpuKernels, variant }: NativeRequest, logger: Logger): Promise<NativeOffer> {
  const here = NATIVE_VARIANTS.filter(({ architecture }) => architecture === process.arch);
  if (here.length === 0 || process.platform === 'win32') {
    unavailable(`there are no native kernels for ${process.platform} on ${process.arch}`);
  }
  const ffi = await loadKoffiFfi();
  const builder = await NativeBuilder.open(logger);
  const features = await featuresOf(ffi, builder);
  const supported = here.filter(({ feature }) => (features & feature) !== 0);
  const chosen = supported.find(({ name }) => name === (variant ?? name));
  if (!chosen) {
    const names = here.map(({ name }) => name).join(' or ');
    return unavailable(`its native kernels need ${variant ?? names}, which this processor lacks`);
  }
  const path = await builder.build(NATIVE_TEXTS.kernels, chosen);
  logger.debug('native kernels ready', { variant: chosen.name, path });
  return { build: { variant: chosen.name, path }, ffi, required: cpuKernels === 'native' };
}

async function featuresOf(ffi: Ffi, builder: NativeBuilder): Promise<number> {
  const library = ffi.open([await builder.build(NATIVE_TEXTS.features)]);
  return library.bind('features', 'u32', [])();
}

function unavailable(why: string, cause?: unknown): never {
  return fail('DEVICE_UNAVAILABLE', { device: 'cpu', why }, cause);
}

/** Compilers to try where `CXX` names none. */
const COMPILERS = ['clang++', 'g++', 'c++'];

const run = promisify(execFile);

/** Compiles texts into libraries, which are kept in the cache of kernels under the hash of the texts and what becomes of them. */
class NativeBuilder {
  readonly #logger: Logger;
  readonly #folder = kernelCacheFolder();
  readonly #sources: string;
  readonly #digest: string;

  private constructor(logger: Logger, sources: string, digest: string) {
    this.#logger = logger;
    this.#sources = sources;
    this.#digest = digest;
  }

  static async open(logger: Logger): Promise<NativeBuilder> {
    const text = packageFile(`../devices/cpu/native/kernels/${NATIVE_TEXTS.kernels[0]}`, import.meta.url);
    const sources = dirname(fileURLToPath(text));
    const hash = createHash('sha256');
    for (const name of (await readdir(sources)).sort()) {
      hash.update(`${name}\n`).update(await readFile(join(sources, name)));
    }
    return new NativeBuilder(logger, sources, hash.digest('hex'));
  }

  /** The file of a library. Its name holds a hash of its contents: a damaged one would crash the process that loads it. */
  async build(texts: readonly string[], variant?: NativeVariant): Promise<string> {
    const flags = [...NATIVE_FLAGS, ...(variant?.flags ?? [])];
    const target = variant?.name ?? process.arch;
    const words = [this.#digest, ...texts, target, process.platform, process.env.CXX ?? '', ...flags];
    const key = createHash('sha256').update(words.join('\n')).digest('hex').slice(0, 32);
    return (await this.#kept(key)) ?? (await this.#compile(key, { texts, target, flags }));
  }

  async #kept(key: string): Promise<string | undefined> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names.filter((each) => each.startsWith(`${key}.`) && each.endsWith('.so'))) {
      const path = join(this.#folder, name);
      const contents = await readFile(path).catch(() => undefined);
      if (contents && name === `${key}.${digestOf(contents)}.so`) return path;
    }
    return undefined;
  }

  async #compile(
    key: string,
    { texts, target, flags }: { texts: readonly string[]; target: string; flags: readonly string[] },
  ): Promise<string> {
    const started = performance.now();
    const temporary = join(this.#folder, `${key}.${randomUUID()}.tmp`);
    try {
      await mkdir(this.#folder, { recursive: true });
      const files = texts.map((text) => join(this.#sources, text));
      const kernel = texts.join(' ');
      const compiler = await compile([...flags, '-o', temporary, ...files], { kernel, target });
      const path = join(this.#folder, `${key}.${digestOf(await readFile(temporary))}.so`);
      // Other processes see either the complete file or none.
      await rename(temporary, path);
      const milliseconds = Math.round(performance.now() - started);
      this.#logger.debug('native kernels compiled', { kernel, target, compiler, milliseconds });
      return path;
    } catch (error) {
      if (isRocmforgeError(error)) throw error;
      return unavailable(`its native kernels cannot be kept in ${this.#folder}: ${String(error)}`, error);
    } finally {
      await rm(temporary, { force: true }).catch(() => {});
    }
  }
}

/** Runs the first compiler that there is, and gives its name. */
async function compile(
  args: readonly string[],
  { kernel, target }: { kernel: string; target: string },
): Promise<string> {
  const candidates = process.env.CXX ? [process.env.CXX] : COMPILERS;
  for (const command of candidates) {
    try {
      await run(command, args);
      return command;
    } catch (error) {
      const { code, stderr } = error as { code?: unknown; stderr?: unknown };
      if (code === 'ENOENT' || code === 'EACCES') continue;
      return fail('KERNEL_COMPILE', { kernel, target, log: `${command}: ${String(stderr)}` }, error);
    }
  }
  return unavailable(`its native kernels need a C++ compiler, and there is none (${candidates.join(', ')})`);
}

function digestOf(contents: Uint8Array): string {
  return createHash('sha256').update(contents).digest('hex').slice(0, 32);
}

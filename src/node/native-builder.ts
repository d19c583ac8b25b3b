import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fail, isRocmforgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { NATIVE_FLAGS, NATIVE_TEXTS, type NativeVariant } from '../devices/cpu/index.ts';
import { kernelCacheFolder } from './disk-kernel-cache.ts';
import { packageFile } from './package-file.ts';

/** Compilers to try where `CXX` names none. */
const COMPILERS = ['clang++', 'g++', 'c++'];

const run = promisify(execFile);

/** Why the CPU's native kernels cannot be had. Throws `DEVICE_UNAVAILABLE`. */
export function nativeUnavailable(why: string, cause?: unknown): never {
  return fail('DEVICE_UNAVAILABLE', { device: 'cpu', why }, cause);
}

/** The texts that all libraries are compiled from. */
export interface NativeTexts {
  readonly folder: string;
  /** Of all of them, in hexadecimal digits. */
  readonly digest: string;
}

/** Reads the texts that come with the package. Rejects with `PACKAGE_INCOMPLETE`. */
export async function nativeTexts(): Promise<NativeTexts> {
  const text = packageFile(`../devices/cpu/native/kernels/${NATIVE_TEXTS.kernels[0]}`, import.meta.url);
  const folder = dirname(fileURLToPath(text));
  const hash = createHash('sha256');
  for (const name of (await readdir(folder)).sort()) {
    hash.update(`${name}\n`).update(await readFile(join(folder, name)));
  }
  return { folder, digest: hash.digest('hex') };
}

/** A library of native kernels: the one of a variant, or the one that tells what the processor has. */
export interface NativeLibraryRequest {
  readonly texts: readonly string[];
  readonly variant?: NativeVariant | undefined;
}

/** Compiles texts into libraries, which are kept in the cache of kernels under the hash of the texts and what becomes of them. */
export class NativeBuilder {
  readonly #logger: Logger;
  readonly #folder = kernelCacheFolder();
  readonly #sources: string;
  readonly #digest: string;

  constructor({ folder, digest }: NativeTexts, logger: Logger) {
    this.#logger = logger;
    this.#sources = folder;
    this.#digest = digest;
  }

  /** Throws `DEVICE_UNAVAILABLE` if there is no compiler to build with. */
  checkCompiler(): void {
    compiler();
  }

  /** The file of a library that was built earlier. Its name holds a hash of its contents: a damaged one would crash the process that loads it. */
  async kept(request: NativeLibraryRequest): Promise<string | undefined> {
    const key = this.#keyOf(request);
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names.filter((each) => each.startsWith(`${key}.`) && each.endsWith('.so'))) {
      const path = join(this.#folder, name);
      const contents = await readFile(path).catch(() => undefined);
      if (contents && name === `${key}.${digestOf(contents)}.so`) return path;
    }
    return undefined;
  }

  /** The file of a library, which is compiled if it is not kept. Rejects with `KERNEL_COMPILE` or `DEVICE_UNAVAILABLE`. */
  async build(request: NativeLibraryRequest): Promise<string> {
    return (await this.kept(request)) ?? (await this.#compile(request));
  }

  #keyOf({ texts, variant }: NativeLibraryRequest): string {
    const target = variant?.name ?? process.arch;
    const flags = flagsOf(variant);
    const words = [this.#digest, ...texts, target, process.platform, process.env.CXX ?? '', ...flags];
    return createHash('sha256').update(words.join('\n')).digest('hex').slice(0, 32);
  }

  async #compile({ texts, variant }: NativeLibraryRequest): Promise<string> {
    const started = performance.now();
    const key = this.#keyOf({ texts, variant });
    const temporary = join(this.#folder, `${key}.${randomUUID()}.tmp`);
    const of = { kernel: texts.join(' '), target: variant?.name ?? process.arch };
    try {
      await mkdir(this.#folder, { recursive: true });
      const files = texts.map((text) => join(this.#sources, text));
      const command = await compile([...flagsOf(variant), '-o', temporary, ...files], of);
      const path = join(this.#folder, `${key}.${digestOf(await readFile(temporary))}.so`);
      // Other processes see either the complete file or none.
      await rename(temporary, path);
      const milliseconds = Math.round(performance.now() - started);
      this.#logger.debug('native kernels compiled', { ...of, compiler: command, milliseconds });
      return path;
    } catch (error) {
      if (isRocmforgeError(error)) throw error;
      return nativeUnavailable(
        `its native kernels cannot be kept in ${this.#folder}: ${String(error)}`,
        error,
      );
    } finally {
      await rm(temporary, { force: true }).catch(() => {});
    }
  }
}

function flagsOf(variant: NativeVariant | undefined): readonly string[] {
  return [...NATIVE_FLAGS, ...(variant?.flags ?? [])];
}

/** The first compiler that there is. */
function compiler(): string {
  if (process.platform === 'win32') nativeUnavailable('its native kernels are not compiled on Windows');
  const candidates = process.env.CXX ? [process.env.CXX] : COMPILERS;
  return (
    candidates.find(isThere) ??
    nativeUnavailable(`its native kernels need a C++ compiler, and there is none (${candidates.join(', ')})`)
  );
}

/** Whether a command can be run: by its path, or by its name in one of the folders of `PATH`. */
function isThere(command: string): boolean {
  const folders = command.includes('/') ? ['.'] : (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.some((folder) => {
    try {
      accessSync(resolve(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Runs the compiler, and gives its name. */
async function compile(
  args: readonly string[],
  { kernel, target }: { kernel: string; target: string },
): Promise<string> {
  const command = compiler();
  try {
    await run(command, args);
    return command;
  } catch (error) {
    const log = `${command}: ${String((error as { stderr?: unknown }).stderr)}`;
    return fail('KERNEL_COMPILE', { kernel, target, log }, error);
  }
}

function digestOf(contents: Uint8Array): string {
  return createHash('sha256').update(contents).digest('hex').slice(0, 32);
}

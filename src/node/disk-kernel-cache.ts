import type { UnsharedBytes } from '../base/web-types.ts';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Logger, silentLogger } from '../base/log.ts';
import type { KernelCache } from '../devices/hip-cuda/index.ts';

const DIGEST_BYTES = 32;

/** The folder of what can be computed or downloaded again: `$XDG_CACHE_HOME`, `%LOCALAPPDATA%` on Windows, else `~/.cache`. */
export function cacheFolder(
  environment: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const own = platform === 'win32' ? environment.LOCALAPPDATA : undefined;
  const base = environment.XDG_CACHE_HOME?.trim() || own || join(homedir(), '.cache');
  return join(base, 'rocmforge');
}

/** The folder of compiled kernels. */
export function kernelCacheFolder(): string {
  return join(cacheFolder(), 'kernels');
}

/**
 * Compiled kernels as files named by their keys, each preceded by its SHA-256: truncated or damaged files count as
 * missing, because a driver would load them and fault.
 */
export class DiskKernelCache implements KernelCache {
  readonly #folder: string;
  readonly #logger: Logger;

  constructor(folder: string = kernelCacheFolder(), logger: Logger = silentLogger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  async get(key: string): Promise<UnsharedBytes | undefined> {
    const file = await readFile(this.#path(key)).catch(() => undefined);
    if (!file || file.byteLength < DIGEST_BYTES) return undefined;
    const code = new Uint8Array(file.subarray(DIGEST_BYTES));
    return digestOf(code).equals(file.subarray(0, DIGEST_BYTES)) ? code : undefined;
  }

  async put(key: string, code: Uint8Array): Promise<void> {
    const temporary = `${this.#path(key)}.${randomUUID()}`;
    try {
      await mkdir(this.#folder, { recursive: true });
      await writeFile(temporary, Buffer.concat([digestOf(code), code]));
      // Other processes see either the complete file or none.
      await rename(temporary, this.#path(key));
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      const reason = error instanceof Error ? error.message : String(error);
      this.#logger.debug('a compiled kernel could not be kept', { folder: this.#folder, reason });
    }
  }

  #path(key: string): string {
    return join(this.#folder, `${key}.kernel`);
  }
}

function digestOf(code: Uint8Array): Buffer {
  return createHash('sha256').update(code).digest();
}

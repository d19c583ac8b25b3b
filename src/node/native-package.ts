import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Logger } from '../base/log.ts';
import type { NativeLibraryRequest, NativeTexts } from './native-builder.ts';

/** The file of a platform's package that names its libraries; `scripts/native-packages.mjs` writes it. */
const MANIFEST = 'kernels.json';

interface Manifest {
  /** The digest of the texts that they were compiled from. */
  readonly texts: string;
  /** By the name of the variant, or `features`. */
  readonly libraries: Readonly<Record<string, { readonly file: string; readonly sha256: string }>>;
}

/** The optional package that brings the native kernels for this platform, compiled. */
export class NativePackage {
  readonly #folder: string;
  readonly #libraries: Manifest['libraries'];
  readonly #logger: Logger;

  private constructor(folder: string, { libraries }: Manifest, logger: Logger) {
    this.#folder = folder;
    this.#libraries = libraries;
    this.#logger = logger;
  }

  /** Undefined if it is not installed or was made from other texts, which the log says. */
  static async open({ digest }: NativeTexts, logger: Logger): Promise<NativePackage | undefined> {
    const name = `@rocmforge/cpu-${process.platform}-${process.arch}`;
    let path: string;
    try {
      path = createRequire(import.meta.url).resolve(`${name}/${MANIFEST}`);
    } catch {
      return undefined;
    }
    const unusable = (reason: string) =>
      logger.warn('a package of native kernels is not used', { name, reason });
    try {
      const manifest = JSON.parse(await readFile(path, 'utf8')) as Manifest;
      if (manifest.texts === digest) return new NativePackage(dirname(path), manifest, logger);
      unusable('it is of another version than rocmforge');
    } catch (error) {
      unusable(String(error));
    }
    return undefined;
  }

  /** The file of a library; undefined if it lacks it or if it is damaged, which the log says: it would crash the process that loads it. */
  async library({ variant }: NativeLibraryRequest): Promise<string | undefined> {
    const library = this.#libraries[variant?.name ?? 'features'];
    if (!library) return undefined;
    const path = join(this.#folder, library.file);
    const contents = await readFile(path).catch(() => new Uint8Array());
    if (createHash('sha256').update(contents).digest('hex') === library.sha256) return path;
    this.#logger.warn('a library of native kernels is damaged', { path });
    return undefined;
  }
}

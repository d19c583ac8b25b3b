import { fail, isRocmforgeError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Address, Ffi } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { HipCudaPlatform } from '../platform.ts';
import { compileOptions } from './compile-options.ts';
import type { HipCudaTarget } from './kernel-set.ts';
import { kernelSource } from './kernel-source.ts';
import { type KernelLaunch, type KernelModule, moduleKey } from './launch.ts';
import { HipCudaModule } from './hip-cuda-module.ts';

/** The dependencies of a store. */
export interface KernelStoreSetup {
  readonly driver: Driver;
  readonly ffi: Ffi;
  readonly platform: HipCudaPlatform;
  readonly target: Omit<HipCudaTarget, 'blas' | 'peers'>;
  /** The target with its features, as reported by the driver: `gfx942:sramecc+:xnack-`. */
  readonly fullTarget: string;
  readonly logger: Logger;
  /** Resolves when code can be loaded onto the device. */
  readonly opened: Promise<void>;
}

/** The compiled kernels of one device: each source is compiled once, or taken from the cache. */
export class KernelStore implements Disposable {
  readonly #setup: KernelStoreSetup;
  readonly #loading = new Map<string, Promise<HipCudaModule>>();
  readonly #modules = new Map<string, HipCudaModule>();
  /** The same by description object: computing a key takes longer than launching. */
  readonly #known = new WeakMap<KernelModule, HipCudaModule>();
  #disposed = false;

  constructor(setup: KernelStoreSetup) {
    this.#setup = setup;
  }

  /** Compiles and loads what is not loaded yet. Rejects with `KERNEL_COMPILE`, or as `opened`. */
  async load(modules: readonly KernelModule[]): Promise<void> {
    await Promise.all(modules.map((module) => this.#load(module)));
  }

  /** Whether launches of its kernels can be queued. */
  isLoaded(module: KernelModule): boolean {
    return this.#known.has(module) || this.#modules.has(moduleKey(module));
  }

  /** A loaded kernel, ready for a launch of this shape. */
  kernel(launch: KernelLaunch): Address {
    const { module, kernel } = launch;
    const loaded = this.#known.get(module) ?? this.#modules.get(moduleKey(module));
    if (!loaded) fail('KERNEL_MISSING', { kernel, found: `${moduleKey(module)} was not asked for` });
    this.#known.set(module, loaded);
    return loaded.kernel(launch, this.#setup.target);
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    for (const module of this.#modules.values()) module[Symbol.dispose]();
    this.#modules.clear();
  }

  #load(module: KernelModule): Promise<HipCudaModule> {
    const key = moduleKey(module);
    const known = this.#loading.get(key);
    if (known) return known;
    const loading = this.#ready(module, key);
    this.#loading.set(key, loading);
    // The caller sees the failure; the next caller tries again.
    loading.catch(() => this.#loading.delete(key));
    return loading;
  }

  async #ready(module: KernelModule, key: string): Promise<HipCudaModule> {
    const { platform, target, fullTarget, driver, logger } = this.#setup;
    const started = performance.now();
    const source = kernelSource(module, platform.texts);
    const options = compileOptions(target, fullTarget);
    const hash = await hashOf([driver.library.api, driver.library.version, ...options].join(' '), source);
    const ready = (from: string) => {
      const milliseconds = Math.round(performance.now() - started);
      logger.debug('kernel ready', { kernel: key, from, milliseconds });
    };
    const cached = await this.#cached(key, hash);
    if (cached) {
      ready('cache');
      return cached;
    }
    const result = await platform.compiler.compile({ api: target.api, name: module.file, source, options });
    if (!result.code) fail('KERNEL_COMPILE', { kernel: key, target: fullTarget, log: result.log });
    const compiled = await this.#add(key, result.code);
    ready('compiler');
    await platform.cache.put(hash, result.code);
    return compiled;
  }

  /** The cached module; undefined if there is none, or if the driver does not accept it. */
  async #cached(key: string, hash: string): Promise<HipCudaModule | undefined> {
    const { platform, logger } = this.#setup;
    const code = await platform.cache.get(hash);
    if (!code) return undefined;
    try {
      return await this.#add(key, code);
    } catch (error) {
      if (!isRocmforgeError(error, 'DRIVER_CALL')) throw error;
      const { message: reason } = error;
      logger.warn('a cached kernel does not load and is compiled again', { kernel: key, reason });
      return undefined;
    }
  }

  async #add(key: string, code: Uint8Array): Promise<HipCudaModule> {
    const { driver, ffi, opened } = this.#setup;
    await opened;
    if (this.#disposed) fail('DISPOSED', { what: `device ${driver.device}` });
    const module = new HipCudaModule({ driver, ffi, label: key }, code);
    this.#modules.set(key, module);
    return module;
  }
}

async function hashOf(target: string, source: string): Promise<string> {
  const bytes = new TextEncoder().encode(`${target}\n${source}`);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

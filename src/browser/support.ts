import { usableThreads } from './open-cpu.ts';
import type { BackendName } from './open-device.ts';
import { keepsFiles } from './store/store-folder.ts';

/** Why something cannot be used, for people. */
export interface Unsupported {
  readonly available: false;
  readonly why: string;
}

/** The graphics card that WebGPU offers. */
export interface GpuSupport {
  readonly available: true;
  readonly vendor: string;
  readonly architecture: string;
  /** The largest buffer, in bytes. WebGPU does not tell how much memory the card has. */
  readonly maxBufferBytes: number;
}

/** The CPU device: WebAssembly's SIMD, and its shared memory. */
export interface CpuSupport {
  readonly available: true;
  /** Threads that it uses by default: one where the page is not cross-origin isolated. */
  readonly threads: number;
}

/** The storage that models are kept in. */
export interface StorageSupport {
  readonly available: true;
  /** Bytes that the browser still allows; undefined if it does not tell. Other storage of the page's origin counts, too. */
  readonly freeBytes: number | undefined;
  /** Whether the browser keeps it when it is short of space. */
  readonly persistent: boolean;
}

/** What a browser can do for models. */
export interface BrowserSupport {
  /** The backend that `device: 'auto'` would use; undefined if no model can run in this page. */
  readonly device: BackendName | undefined;
  readonly webgpu: GpuSupport | Unsupported;
  readonly cpu: CpuSupport | Unsupported;
  readonly storage: StorageSupport | Unsupported;
  /** The device's memory in bytes, rounded by the browser and at most 8 GiB; undefined if it does not tell. */
  readonly memoryBytes: number | undefined;
}

/** A module whose only function has a vector: browsers without SIMD refuse it. */
const SIMD_MODULE = new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  ...[0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b],
  ...[0x03, 0x02, 0x01, 0x00],
  ...[0x0a, 0x08, 0x01, 0x06, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x0b],
]);

/** Tells what this browser can do for models, before any is downloaded. Opens nothing, and never rejects. */
export async function support(): Promise<BrowserSupport> {
  const [webgpu, storage] = await Promise.all([gpuSupport(), storageSupport()]);
  const cpu = cpuSupport();
  const { deviceMemory } = navigator as Navigator & { readonly deviceMemory?: number };
  return {
    device: webgpu.available ? 'webgpu' : cpu.available ? 'cpu' : undefined,
    webgpu,
    cpu,
    storage,
    memoryBytes: deviceMemory === undefined ? undefined : deviceMemory * 2 ** 30,
  };
}

async function gpuSupport(): Promise<GpuSupport | Unsupported> {
  const { gpu } = navigator as Partial<Pick<Navigator, 'gpu'>>;
  if (!gpu) {
    return unsupported(
      globalThis.isSecureContext
        ? 'the browser has no WebGPU, or it is switched off'
        : 'browsers give WebGPU to pages from https or localhost only',
    );
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter) return unsupported('no adapter was found');
  const { vendor, architecture, isFallbackAdapter } = adapter.info;
  if (isFallbackAdapter) return unsupported('the only adapter is software');
  return { available: true, vendor, architecture, maxBufferBytes: adapter.limits.maxBufferSize };
}

function cpuSupport(): CpuSupport | Unsupported {
  if (!hasSharedMemory()) return unsupported('the browser has no shared memory in WebAssembly');
  if (!WebAssembly.validate(SIMD_MODULE)) return unsupported('the browser has no SIMD in WebAssembly');
  return { available: true, threads: usableThreads() };
}

function hasSharedMemory(): boolean {
  try {
    return new WebAssembly.Memory({ initial: 0, maximum: 1, shared: true }).buffer instanceof Object;
  } catch {
    return false;
  }
}

async function storageSupport(): Promise<StorageSupport | Unsupported> {
  const { storage } = navigator as Partial<Pick<Navigator, 'storage'>>;
  if (!storage) return unsupported('browsers keep files for pages from https or localhost only');
  if (!keepsFiles(storage)) return unsupported('the browser keeps no files for pages');
  try {
    await storage.getDirectory();
    const { usage = 0, quota } = await storage.estimate();
    const freeBytes = quota === undefined ? undefined : Math.max(0, quota - usage);
    return { available: true, freeBytes, persistent: await storage.persisted() };
  } catch (error) {
    return unsupported(error instanceof Error ? error.message : String(error));
  }
}

function unsupported(why: string): Unsupported {
  return { available: false, why };
}

import type { UnsharedBytes } from '../base/web-types.ts';
import { fail } from '../base/errors.ts';
import type { BlockDecoder, Device } from '../device/index.ts';
import { type KernelBytes, openCpuDecoder, openCpuDevice } from '../devices/cpu/index.ts';
import { browserWorkerHost } from './worker-host.ts';

/** Options of the CPU device in browsers. */
export interface BrowserCpuOptions {
  /** Number of worker threads. Default: the browser's logical processors, minus the one that the engine runs on. */
  readonly threads?: number | undefined;
}

/** The URLs of the compiled kernels, written so that bundlers find them. */
const KERNELS = {
  relaxed: new URL('../devices/cpu/kernels.relaxed.wasm', import.meta.url),
  baseline: new URL('../devices/cpu/kernels.baseline.wasm', import.meta.url),
};

/** Whether workers can share memory, without which the CPU device cannot run. */
export function canShareMemory(): boolean {
  return globalThis.crossOriginIsolated;
}

/**
 * Opens the CPU with workers over shared memory. Rejects with `DEVICE_UNAVAILABLE` if the page cannot share memory or
 * the browser lacks SIMD.
 */
export async function openCpu({ threads }: BrowserCpuOptions = {}): Promise<Device> {
  requireSharedMemory();
  const host = browserWorkerHost(
    usableThreads(),
    (name) => new Worker(new URL('./cpu-worker.js', import.meta.url), { type: 'module', name }),
  );
  return openCpuDevice({ host, threads, kernels: await kernelBytes(), name: 'CPU (WebAssembly)' });
}

/** Opens SIMD decoders in workers, which start at first use. Rejects like `openCpu`. */
export async function openDecoder({ threads }: BrowserCpuOptions = {}): Promise<BlockDecoder> {
  requireSharedMemory();
  const host = browserWorkerHost(
    usableThreads(),
    (name) => new Worker(new URL('./decode-worker.js', import.meta.url), { type: 'module', name }),
  );
  return openCpuDecoder({ threads, host, kernels: await kernelBytes() });
}

/** Threads that the CPU device uses by default. */
export function usableThreads(): number {
  return Math.max(1, navigator.hardwareConcurrency - 1);
}

function requireSharedMemory(): void {
  if (canShareMemory()) return;
  const why =
    'the page is not cross-origin isolated: serve it with Cross-Origin-Opener-Policy: same-origin and ' +
    'Cross-Origin-Embedder-Policy: require-corp';
  fail('DEVICE_UNAVAILABLE', { device: 'cpu', why });
}

async function kernelBytes(): Promise<KernelBytes> {
  const [relaxed, baseline] = await Promise.all([kernels('relaxed'), kernels('baseline')]);
  return { relaxed, baseline };
}

async function kernels(variant: keyof KernelBytes): Promise<UnsharedBytes> {
  const response = await fetch(KERNELS[variant]);
  if (!response.ok) {
    const why = `its kernels are not served beside it (${KERNELS[variant].href}: status ${response.status})`;
    fail('DEVICE_UNAVAILABLE', { device: 'cpu', why });
  }
  return new Uint8Array(await response.arrayBuffer());
}

import type { UnsharedBytes } from '../base/web-types.ts';
import { fail } from '../base/errors.ts';
import type { BlockDecoder, Device } from '../device/index.ts';
import { type KernelBytes, openCpuDecoder, openCpuDevice, runCpuWorker } from '../devices/cpu/index.ts';
import { ownThreadHost } from './own-thread-host.ts';
import { startWorker } from './start-worker.ts';
import { browserWorkerHost } from './worker-host.ts';

/** Options of the CPU device in browsers. */
export interface BrowserCpuOptions {
  /**
   * Number of threads. Default: the browser's logical processors, minus the one that the engine runs on; 1 where the page is not
   * cross-origin isolated, which then computes on the engine's own thread and allows no more.
   */
  readonly threads?: number | undefined;
}

/** The URLs of the compiled kernels, written so that bundlers find them. */
const KERNELS = {
  relaxed: new URL('../devices/cpu/kernels.relaxed.wasm', import.meta.url),
  baseline: new URL('../devices/cpu/kernels.baseline.wasm', import.meta.url),
};

/** Whether workers can share memory. WebKit's pages may be isolated and not have it. */
export function canShareMemory(): boolean {
  return globalThis.crossOriginIsolated && typeof SharedArrayBuffer === 'function';
}

/**
 * Opens the CPU with workers over shared memory, or on the calling thread, which must be a worker's, if workers cannot share it. Rejects with
 * `DEVICE_UNAVAILABLE` if the browser lacks SIMD, or if more than one thread is asked for where there is one.
 */
export async function openCpu({ threads }: BrowserCpuOptions = {}): Promise<Device> {
  if ((threads ?? 1) > 1) requireSharedMemory();
  const host = canShareMemory()
    ? browserWorkerHost(usableThreads(), (name) =>
        startWorker(() => new Worker(new URL('./cpu-worker.js', import.meta.url), { type: 'module', name }), {
          script: 'cpu-worker.js',
          beside: import.meta.url,
          name,
        }),
      )
    : ownThreadHost((port) => runCpuWorker(port, undefined, { sharesThread: true }));
  return openCpuDevice({ host, threads, kernels: await kernelBytes(), name: 'CPU (WebAssembly)' });
}

/** Opens SIMD decoders in workers, which start at first use. Rejects like `openCpu`. */
export async function openDecoder({ threads }: BrowserCpuOptions = {}): Promise<BlockDecoder> {
  requireSharedMemory();
  const host = browserWorkerHost(usableThreads(), (name) =>
    startWorker(() => new Worker(new URL('./decode-worker.js', import.meta.url), { type: 'module', name }), {
      script: 'decode-worker.js',
      beside: import.meta.url,
      name,
    }),
  );
  return openCpuDecoder({ threads, host, kernels: await kernelBytes() });
}

/** Threads that the CPU device uses by default. */
export function usableThreads(): number {
  if (!canShareMemory()) return 1;
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

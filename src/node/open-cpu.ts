import type { UnsharedBytes } from '../base/web-types.ts';
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import type { BlockDecoder, Device } from '../device/index.ts';
import {
  type CpuDeviceOptions,
  type KernelBytes,
  openCpuDecoder,
  openCpuDevice,
} from '../devices/cpu/index.ts';
import { usableCores } from './cpu-threads.ts';
import { loadLargePages } from './large-pages.ts';
import { findNativeKernels, type NativeRequest } from './native-kernels.ts';
import { nodeWorkerHost } from './worker-host.ts';
import { packageFile } from './package-file.ts';

const WORKER = '../bin/cpu-worker.js';
const DECODE_WORKER = '../bin/decode-worker.js';
const KERNELS = '../devices/cpu/';

/** Options of the CPU device in Node; everything else is detected. */
export type NodeCpuOptions = Partial<
  Pick<CpuDeviceOptions, 'threads' | 'relaxed' | 'memoryLimit' | 'bankBytes' | 'spread'>
> &
  NativeRequest;

/**
 * Opens the CPU with worker threads, one per physical core that the process may use and with native kernels as `findNativeKernels` says.
 */
export async function openCpu(options: NodeCpuOptions = {}): Promise<Device> {
  const [kernels, native, largePages] = await Promise.all([
    kernelBytes(),
    findNativeKernels(options),
    options.cpuKernels === 'wasm' ? undefined : loadLargePages(),
  ]);
  return openCpuDevice({
    ...options,
    ...native,
    largePages,
    host: nodeWorkerHost(packageFile(WORKER, import.meta.url), usableCores()),
    kernels,
    memoryLimit: options.memoryLimit ?? process.availableMemory(),
    name: cpus()[0]?.model ?? 'CPU',
  });
}

/** Opens SIMD decoders on worker threads, on three of four cores: the others read and copy. They start on first use. */
export async function openDecoder(
  options: { readonly threads?: number | undefined } = {},
): Promise<BlockDecoder> {
  const host = nodeWorkerHost(packageFile(DECODE_WORKER, import.meta.url), Math.ceil(0.75 * usableCores()));
  return openCpuDecoder({ ...options, host, kernels: await kernelBytes() });
}

let bytesHere: Promise<KernelBytes> | undefined;

/** The compiled kernels of the CPU device, read once. Rejects with `PACKAGE_INCOMPLETE` if they are missing. */
export function kernelBytes(): Promise<KernelBytes> {
  bytesHere ??= readKernels().catch((error: unknown) => {
    bytesHere = undefined;
    throw error;
  });
  return bytesHere;
}

async function readKernels(): Promise<KernelBytes> {
  allowRelaxedSimd();
  const [relaxed, baseline] = await Promise.all([kernels('relaxed'), kernels('baseline')]);
  return { relaxed, baseline };
}

/**
 * Node 20 has relaxed SIMD behind a flag, which must be set before any module is validated; later versions have no such
 * flag.
 */
export function allowRelaxedSimd(): void {
  if (Number.parseInt(process.versions.node) <= 20) setFlagsFromString('--experimental-wasm-relaxed-simd');
}

async function kernels(variant: 'relaxed' | 'baseline'): Promise<UnsharedBytes> {
  return new Uint8Array(await readFile(packageFile(`${KERNELS}kernels.${variant}.wasm`, import.meta.url)));
}

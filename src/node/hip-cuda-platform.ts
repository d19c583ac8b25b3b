import type { Logger } from '../base/log.ts';
import type { CompileJob, HipCudaPlatform, Scheduler } from '../devices/hip-cuda/index.ts';
import { ChildCompiler } from './child-compiler.ts';
import { DiskKernelCache, kernelCacheFolder } from './disk-kernel-cache.ts';
import { FileKernelTexts } from './file-kernel-texts.ts';
import { loadKoffiFfi } from './koffi-ffi.ts';

/** How Node's platform for the HIP and CUDA device differs from the default. */
export interface HipCudaPlatformOptions {
  /** Libraries to search for the run-time compilers. */
  readonly compilers?: Partial<Record<CompileJob['api'], readonly string[]>>;
  readonly cacheFolder?: string;
  /** Folders to search for kernel sources. */
  readonly kernelFolders?: readonly string[];
  readonly logger?: Logger;
}

/** Node's platform for HIP and CUDA devices, with its compiling processes. */
export interface NodeHipCudaPlatform extends HipCudaPlatform, AsyncDisposable {}

const scheduler: Scheduler = {
  soon: (callback) => {
    setImmediate(callback);
  },
  later: (callback, milliseconds) => {
    setTimeout(callback, milliseconds);
  },
};

/** Rejects with `FFI_UNAVAILABLE` if native libraries cannot be called. */
export async function openHipCudaPlatform(
  options: HipCudaPlatformOptions = {},
): Promise<NodeHipCudaPlatform> {
  const compiler = new ChildCompiler(options.compilers ? { libraries: options.compilers } : {});
  return {
    ffi: await loadKoffiFfi(),
    scheduler,
    compiler,
    cache: new DiskKernelCache(options.cacheFolder ?? kernelCacheFolder(), options.logger),
    texts: new FileKernelTexts(options.kernelFolders),
    [Symbol.asyncDispose]: () => compiler[Symbol.asyncDispose](),
  };
}

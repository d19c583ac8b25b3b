import { cudaDriver, DriverLibrary, hipDriver } from '../../../src/devices/hip-cuda/index.ts';
import type { NodeHipCudaPlatform } from '../../../src/node/hip-cuda-platform.ts';

/** A driver of this machine with several GPUs, or why there is none. */
export function openSeveral(
  driver: 'hip' | 'cuda',
  { ffi }: NodeHipCudaPlatform,
): DriverLibrary | { readonly reason: string } {
  try {
    const library = new DriverLibrary(ffi, driver === 'cuda' ? cudaDriver : hipDriver);
    return library.deviceCount > 1 ? library : { reason: 'there is only one GPU' };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

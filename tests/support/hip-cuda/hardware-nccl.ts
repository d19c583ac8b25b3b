import { after, test } from 'node:test';
import {
  cudaNccl,
  HIP_CUDA_KERNELS,
  type HipCudaDevice,
  hipNccl,
  NcclLibrary,
} from '../../../src/devices/hip-cuda/index.ts';
import { libraryPlaces } from '../../../src/node/library-places.ts';
import {
  checkCollective,
  checkPartialProduct,
  COLLECTIVE_CASES,
  PARTIAL_PRODUCTS,
} from '../contract/collectives.ts';
import { openTestPlatform } from './emulator.ts';
import { withLinked } from './link-tests.ts';
import { openedDevice } from './opened-device.ts';
import { openSeveral } from './several-gpus.ts';

/** Of more, the library may add up in another order. */
const RANKS = 2;

/**
 * Declares the tests of two GPUs of this machine whose collectives NCCL or RCCL computes. Skipped, with the reason, if there are not two,
 * or no library.
 */
export async function testHardwareNccl(driver: 'hip' | 'cuda'): Promise<void> {
  const platform = await openTestPlatform({});
  after(() => platform[Symbol.asyncDispose]());
  const library = openSeveral(driver, platform);
  const collectiveLibraries = libraryPlaces(driver, 'collectives');
  const skip = 'reason' in library ? library.reason : whyNone(driver, platform.ffi, collectiveLibraries);
  const open = (ordinal: number): HipCudaDevice => {
    if ('reason' in library) throw new Error(library.reason);
    return openedDevice({ library, ordinal, platform, kernels: HIP_CUDA_KERNELS, collectiveLibraries });
  };
  const linked = (body: (devices: readonly HipCudaDevice[]) => Promise<void>) =>
    withLinked(open, RANKS, body, { link: 'nccl' });
  for (const of of COLLECTIVE_CASES) {
    test(`${driver}, by a library: ${of.name}`, { skip }, () =>
      linked((devices) => checkCollective(devices, of)),
    );
  }
  test(`${driver}, by a library: products in parts`, { skip }, () =>
    linked(async (devices) => {
      for (const of of PARTIAL_PRODUCTS) await checkPartialProduct(devices, of);
    }),
  );
}

function whyNone(
  driver: 'hip' | 'cuda',
  ffi: ConstructorParameters<typeof NcclLibrary>[0],
  libraries: readonly string[],
): string | false {
  try {
    new NcclLibrary(ffi, driver === 'cuda' ? cudaNccl : hipNccl, libraries)[Symbol.dispose]();
    return false;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

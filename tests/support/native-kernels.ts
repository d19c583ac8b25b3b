import { type NativeOffer, nativeVariants } from '../../src/devices/cpu/index.ts';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { buildNativeKernels } from '../../src/node/native-kernels.ts';

/** The native kernels' variants that can run here, best first, and why the others cannot. */
export interface NativeHere {
  readonly offers: readonly NativeOffer[];
  readonly missing: readonly string[];
}

/** Compiles what is not kept yet. In continuous integration, rejects without a C++ compiler. */
export async function nativeHere(): Promise<NativeHere> {
  const offers: NativeOffer[] = [];
  const missing: string[] = [];
  const here = nativeVariants(process.arch, process.platform);
  if (here.length === 0) missing.push(`there are no native kernels for ${process.arch}`);
  for (const { name } of here) {
    try {
      offers.push(await buildNativeKernels({ variant: name }));
    } catch (error) {
      const known =
        isRocmforgeError(error, 'DEVICE_UNAVAILABLE') || isRocmforgeError(error, 'FFI_UNAVAILABLE');
      if (!known || (process.env.CI && /compiler/.test(error.message))) throw error;
      missing.push(error.message);
    }
  }
  return { offers, missing };
}

import { fail, isRocmforgeError } from '../../../base/errors.ts';
import type { Address, Ffi, NativeMemory } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { DeviceAttributes } from '../driver/driver-calls.ts';
import { NOT_FOUND } from '../driver/driver-status.ts';
import type { KernelLaunch } from './launch.ts';

/** Bytes of shared memory that CUDA takes of a block. */
export const DRIVER_SHARED = 1 << 10;

type SharedMemory = Pick<DeviceAttributes, 'sharedBytesOptIn'>;

/** Compiled code on the device, and its kernels by name. */
export class HipCudaModule implements Disposable {
  readonly #driver: Driver;
  readonly #label: string;
  readonly #handle: Address;
  /** Kept as long as the module: HIP reads parts of the image when a kernel is first requested. */
  readonly #image: NativeMemory;
  readonly #kernels = new Map<string, { handle: Address; sharedBytes: number }>();

  constructor(of: { driver: Driver; ffi: Ffi; label: string }, code: Uint8Array) {
    this.#driver = of.driver;
    this.#label = of.label;
    this.#image = of.ffi.allocate(code.byteLength);
    try {
      this.#image.bytes.set(code);
      this.#handle = of.driver.loadModule(this.#image.address, of.label);
    } catch (error) {
      this.#image[Symbol.dispose]();
      throw error;
    }
  }

  /** A launch's kernel, which may have as much dynamic shared memory as that takes. Throws `KERNEL_MISSING`. */
  kernel({ kernel, sharedBytes, residentBlocks }: KernelLaunch, target: SharedMemory): Address {
    let known = this.#kernels.get(kernel);
    if (!known) {
      // What a kernel may have unasked is less by its static memory, which the driver alone knows.
      known = { handle: this.#find(kernel), sharedBytes: 0 };
      this.#kernels.set(kernel, known);
      if (residentBlocks !== undefined) {
        const share = (residentBlocks * (sharedBytes + DRIVER_SHARED)) / target.sharedBytesOptIn;
        this.#driver.preferShared(known.handle, Math.min(100, Math.ceil(100 * share)));
      }
    }
    if (sharedBytes > known.sharedBytes) {
      this.#driver.allowSharedBytes(known.handle, sharedBytes);
      known.sharedBytes = sharedBytes;
    }
    return known.handle;
  }

  [Symbol.dispose](): void {
    this.#driver.unloadModule(this.#handle);
    this.#image[Symbol.dispose]();
  }

  #find(name: string): Address {
    try {
      return this.#driver.kernel(this.#handle, name);
    } catch (error) {
      if (!isRocmforgeError(error, 'DRIVER_CALL') || error.params.status !== NOT_FOUND) throw error;
      return fail('KERNEL_MISSING', { kernel: name, found: `${this.#label} has none of that name` }, error);
    }
  }
}

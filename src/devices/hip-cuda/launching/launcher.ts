import { invariant } from '../../../base/errors.ts';
import type { Address, Ffi } from '../../../device/index.ts';
import type { BlasLibrary } from './blas/blas-library.ts';
import type { Driver } from '../driver/driver.ts';
import { ArgumentBlock } from './argument-block.ts';
import type { KernelStore } from './kernel-store.ts';
import type { Launch } from './launch.ts';

/** Passes launches to the driver, on a stream or into a graph. */
export class Launcher implements Disposable {
  readonly #driver: Driver;
  readonly #kernels: KernelStore;
  readonly #arguments: ArgumentBlock;
  #blas: BlasLibrary | undefined;

  constructor(of: { driver: Driver; kernels: KernelStore; ffi: Ffi }) {
    this.#driver = of.driver;
    this.#kernels = of.kernels;
    this.#arguments = new ArgumentBlock(of.ffi);
  }

  /** Sets the library for large products, which is loaded while the first of them are recorded. */
  useBlas(library: BlasLibrary | undefined): void {
    this.#blas = library;
  }

  /** Queues launches in order. Their kernels must be loaded. */
  queue(launches: readonly Launch[], stream: Address): void {
    for (const launch of launches) this.#queue(launch, stream);
  }

  /** Loads what launches need, which is not allowed while they are captured. Waits. */
  prepare(launches: readonly Launch[], stream: Address): void {
    for (const launch of launches) {
      if (launch.kind === 'kernel') this.#kernels.kernel(launch);
      if (launch.kind === 'product') this.#blas?.prepare(launch.shape, stream);
    }
  }

  [Symbol.dispose](): void {
    this.#arguments[Symbol.dispose]();
  }

  #queue(launch: Launch, stream: Address): void {
    invariant(launch.kind !== 'collective', 'collectives are queued for all ranks at once');
    if (launch.kind === 'fill') this.#driver.fill(launch.to, launch.byte, launch.bytes, stream);
    else if (launch.kind === 'copy') this.#driver.copy(launch.to, launch.from, launch.bytes, stream);
    else if (launch.kind === 'product') {
      invariant(this.#blas, 'only a target with a BLAS library is given its products');
      this.#blas.multiply(launch, stream);
    } else {
      const handle = this.#kernels.kernel(launch);
      const kernel = { handle, name: launch.kernel };
      this.#driver.launch(kernel, launch, stream, this.#arguments.write(launch.args));
    }
  }
}

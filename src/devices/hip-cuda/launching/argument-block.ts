import { invariant } from '../../../base/errors.ts';
import type { Address, Ffi, NativeMemory } from '../../../device/index.ts';
import type { KernelArgument } from './launch.ts';

const MAX_ARGUMENTS = 64;
const SLOT_BYTES = 8;

/** Arguments in the form of a driver's launch call: an array of pointers to values. Reused for every launch. */
export class ArgumentBlock implements Disposable {
  readonly #memory: NativeMemory;

  constructor(ffi: Ffi) {
    this.#memory = ffi.allocate(2 * MAX_ARGUMENTS * SLOT_BYTES);
    for (let i = 0; i < MAX_ARGUMENTS; i++) {
      writeAddress(this.#memory.view, i * SLOT_BYTES, this.#memory.address + this.#valueAt(i));
    }
  }

  /** Writes the arguments and returns the address of the pointers. Valid until the next call. */
  write(args: readonly KernelArgument[]): Address {
    invariant(args.length <= MAX_ARGUMENTS, `a kernel takes at most ${MAX_ARGUMENTS} arguments`);
    const { view } = this.#memory;
    args.forEach(({ type, value }, i) => {
      const at = this.#valueAt(i);
      if (type === 'address' || type === 'i64') writeAddress(view, at, value);
      else if (type === 'f32') view.setFloat32(at, value, true);
      else if (type === 'i32') view.setInt32(at, value, true);
      else view.setUint32(at, value, true);
    });
    return this.#memory.address;
  }

  [Symbol.dispose](): void {
    this.#memory[Symbol.dispose]();
  }

  #valueAt(index: number): number {
    return (MAX_ARGUMENTS + index) * SLOT_BYTES;
  }
}

function writeAddress(view: DataView, at: number, address: Address): void {
  view.setUint32(at, address % 2 ** 32, true);
  view.setUint32(at + 4, Math.floor(address / 2 ** 32), true);
}

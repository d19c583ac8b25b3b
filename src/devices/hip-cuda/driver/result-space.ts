import type { Address, Ffi, NativeMemory } from '../../../device/index.ts';

/** Large enough for the largest structure that a driver fills: `hipDeviceProp_t`, 1 472 bytes. */
const BYTES = 2048;

/** Memory for the results of driver calls. One for all calls of a thread: read before the next call. */
export class ResultSpace {
  readonly #memory: NativeMemory;
  readonly #text: (address: Address) => string;

  constructor(ffi: Ffi) {
    this.#memory = ffi.allocate(BYTES);
    this.#text = (address) => ffi.text(address);
  }

  get address(): Address {
    return this.#memory.address;
  }

  /** The memory itself, for structures that a call takes. */
  get view(): DataView {
    return this.#memory.view;
  }

  get byteLength(): number {
    return BYTES;
  }

  /** The 64-bit pointer, handle or size at an index. */
  pointer(index = 0): Address {
    const { view } = this.#memory;
    return view.getUint32(8 * index, true) + view.getUint32(8 * index + 4, true) * 2 ** 32;
  }

  /** The 32-bit integer at an index. */
  int(index = 0): number {
    return this.#memory.view.getInt32(4 * index, true);
  }

  float(): number {
    return this.#memory.view.getFloat32(0, true);
  }

  /** The text at a byte offset of the space. */
  text(offset = 0): string {
    return this.#text(this.address + offset);
  }

  /** The text at an address that a call returned. */
  textAt(address: Address): string {
    return address === 0 ? '' : this.#text(address);
  }
}

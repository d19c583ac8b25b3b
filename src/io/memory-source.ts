import { asBytes } from '../base/bytes.ts';
import { CheckedSource } from './checked-source.ts';

/** Bytes that are in memory already. Views are zero-copy; disposing drops nothing but the right to read. */
export class MemorySource extends CheckedSource {
  readonly #bytes: Uint8Array;

  constructor(bytes: ArrayBufferView | ArrayBufferLike, name = 'memory') {
    super(name, bytes.byteLength);
    this.#bytes = asBytes(bytes);
  }

  view(offset: number, length: number): Uint8Array {
    this.checkRange(offset, length);
    return this.#bytes.subarray(offset, offset + length);
  }

  protected async fill(offset: number, into: Uint8Array): Promise<void> {
    into.set(this.#bytes.subarray(offset, offset + into.byteLength));
  }

  protected async release(): Promise<void> {}
}

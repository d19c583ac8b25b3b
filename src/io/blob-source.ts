import { fail, throwIfAborted } from '../base/errors.ts';
import { CheckedSource } from './checked-source.ts';

/** Slices are copied twice, so large reads go piece by piece. */
const PIECE_BYTES = 8 << 20;

/** A `Blob` or `File`: what a browser's file picker, drag and drop or OPFS gives. */
export class BlobSource extends CheckedSource {
  readonly #blob: Blob;

  constructor(blob: Blob, name?: string) {
    super(name ?? nameOf(blob), blob.size);
    this.#blob = blob;
  }

  protected async fill(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    for (let done = 0; done < into.byteLength; done += PIECE_BYTES) {
      throwIfAborted(signal, `reading ${this.name}`);
      const length = Math.min(PIECE_BYTES, into.byteLength - done);
      const piece = await this.#readPiece(offset + done, length);
      if (piece.byteLength !== length) {
        fail('READ_SHORT', { source: this.name, offset: offset + done, length, found: piece.byteLength });
      }
      into.set(piece, done);
    }
  }

  protected async release(): Promise<void> {}

  async #readPiece(offset: number, length: number): Promise<Uint8Array> {
    try {
      return new Uint8Array(await this.#blob.slice(offset, offset + length).arrayBuffer());
    } catch (cause) {
      return fail('READ_FAILED', { source: this.name, offset, length, reason: String(cause) }, cause);
    }
  }
}

function nameOf(blob: Blob): string {
  return 'name' in blob && typeof blob.name === 'string' ? blob.name : 'blob';
}

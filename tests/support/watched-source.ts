import { fail } from '../../src/base/errors.ts';
import { MemorySource } from '../../src/io/index.ts';

/** A file in memory that counts its reads, and fails them on command. */
export class WatchedSource extends MemorySource {
  reads = 0;
  bytesRead = 0;
  /** The number of the first read that fails, counted from 1; all later ones fail too. */
  failFrom: number | undefined;
  /** Called before each read, which awaits the result. */
  onRead: ((offset: number) => Promise<void> | void) | undefined;

  constructor(bytes: Uint8Array, name = 'watched.gguf') {
    super(bytes, name);
  }

  override async read(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.reads++;
    const number = this.reads;
    await this.onRead?.(offset);
    if (number >= (this.failFrom ?? Number.POSITIVE_INFINITY)) {
      fail('READ_FAILED', { source: this.name, offset, length: into.byteLength, reason: 'the test says so' });
    }
    await super.read(offset, into, signal);
    this.bytesRead += into.byteLength;
  }
}

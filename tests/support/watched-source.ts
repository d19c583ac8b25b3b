import { fail } from '../../src/base/errors.ts';
import { MemorySource } from '../../src/io/index.ts';

/** A file in memory that counts its reads, and fails them when it is told to. */
export class WatchedSource extends MemorySource {
  reads = 0;
  bytesRead = 0;
  /** The number of the first read that fails, counted from 1; all after it fail too. */
  failFrom: number | undefined;
  /** Called before each read; the read waits for what it gives. */
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

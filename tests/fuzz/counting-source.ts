import assert from 'node:assert/strict';
import { CheckedSource } from '../../src/io/index.ts';

/** Memory that counts what is read from it and whether it was disposed. */
export class CountingSource extends CheckedSource {
  bytesRead = 0;
  reads = 0;
  disposals = 0;

  constructor(
    readonly content: Uint8Array,
    name = 'memory',
  ) {
    super(name, content.byteLength);
  }

  protected async fill(offset: number, into: Uint8Array): Promise<void> {
    assert.ok(into.byteLength <= this.size, 'asked for more than the file has');
    this.bytesRead += into.byteLength;
    this.reads++;
    into.set(this.content.subarray(offset, offset + into.byteLength));
  }

  protected async release(): Promise<void> {
    this.disposals++;
  }
}

import { alignUp } from '../../base/bytes.ts';
import { invariant } from '../../base/errors.ts';
import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type PinnedBuffer,
  type Stream,
} from '../../device/index.ts';
import { ELEMENT_BYTES } from '../../ops/value.ts';

/** An input that stays on the device, in words. */
export interface PersistentInput {
  readonly name: string;
  readonly words: number;
}

/** Words of a piece: changes are uploaded in whole pieces. */
const PIECE_WORDS = BUFFER_ALIGNMENT / ELEMENT_BYTES.i32;
/** Up to this many unchanged pieces between changed ones, uploading them costs less than another upload. */
const MAX_BETWEEN = 16;

/** The offset of each input and the total size, in words. */
function layoutOf(inputs: readonly PersistentInput[]): { offsets: Map<string, number>; words: number } {
  const offsets = new Map<string, number>();
  let words = 0;
  for (const input of inputs) {
    offsets.set(input.name, words);
    words = alignUp(words + input.words, PIECE_WORDS);
  }
  return { offsets, words };
}

/**
 * Small inputs that stay on the device between steps, for all batch shapes: block tables and sampling parameters. Steps
 * upload only what changed. A copy on the host mirrors what the device will have once the queued uploads are done.
 */
export class PersistentInputs implements Disposable {
  /** Bytes of all queued uploads. */
  uploadedBytes = 0;
  readonly #offsets: ReadonlyMap<string, number>;
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  /** Flags for pieces that changed since the last upload; all of them lie in this span. */
  readonly #changed: Uint8Array;
  #begin = 0;
  #end: number;
  readonly #buffer: DeviceBuffer;
  /** Uploaded data stays here until its step is done. */
  readonly #staging: readonly PinnedBuffer[];

  /** Creates the buffers, with staging memory for each of `inFlight` steps. Throws `OUT_OF_MEMORY`. */
  constructor(device: Device, inputs: readonly PersistentInput[], inFlight: number) {
    const { offsets, words } = layoutOf(inputs);
    this.#offsets = offsets;
    this.#sizes = new Map(inputs.map((input) => [input.name, input.words]));
    this.#words = new Int32Array(words);
    this.#bytes = new Uint8Array(this.#words.buffer);
    // A new buffer's contents are undefined.
    this.#changed = new Uint8Array(words / PIECE_WORDS).fill(1);
    this.#end = this.#changed.length;
    this.#buffer = device.createBuffer(this.#bytes.byteLength, 'kept inputs');
    const staging: PinnedBuffer[] = [];
    this.#staging = staging;
    try {
      while (staging.length < inFlight)
        staging.push(device.createPinned(this.#bytes.byteLength, 'kept inputs'));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** Bytes of the inputs, once on the device and once for each step in flight. */
  static byteLength(inputs: readonly PersistentInput[]): number {
    return layoutOf(inputs).words * ELEMENT_BYTES.i32;
  }

  /** Writes words of an input, starting at `at`, if they differ from the current ones. */
  write(name: string, at: number, words: Int32Array): void {
    const first = this.#offsetOf(name) + at;
    for (let i = 0; i < words.length; i++) {
      const to = first + i;
      if (this.#words[to] === words[i]) continue;
      this.#words[to] = words[i] as number;
      this.#mark(Math.floor(to / PIECE_WORDS));
    }
  }

  /** What the device has of an input, or will have once queued uploads and later changes are done. */
  read(name: string): Int32Array {
    const offset = this.#offsetOf(name);
    return this.#words.slice(offset, offset + (this.#sizes.get(name) ?? 0));
  }

  /** Queues the upload of changes, through the staging memory of the step that is about to be queued. */
  upload(stream: Stream, step: number): void {
    const staging = this.#staging[step];
    invariant(staging, `place ${step} was made`);
    const end = this.#end;
    for (let piece = this.#begin; piece < end;) {
      if (this.#changed[piece] === 0) {
        piece++;
        continue;
      }
      const begin = piece;
      let last = piece;
      while (piece < end && piece - last <= MAX_BETWEEN) {
        if (this.#changed[piece] === 1) last = piece;
        this.#changed[piece++] = 0;
      }
      piece = last + 1;
      this.#send(stream, staging, { begin, end: piece });
    }
    this.#begin = this.#changed.length;
    this.#end = 0;
  }

  /** `byteLength` bytes of device memory for one of a graph's inputs; undefined if it is not kept. */
  rangeOf(name: string, byteLength: number): BufferRange | undefined {
    const offset = this.#offsets.get(name);
    if (offset === undefined) return undefined;
    return { buffer: this.#buffer, offset: offset * ELEMENT_BYTES.i32, byteLength };
  }

  [Symbol.dispose](): void {
    for (const pinned of this.#staging) pinned[Symbol.dispose]();
    this.#buffer[Symbol.dispose]();
  }

  #mark(piece: number): void {
    this.#changed[piece] = 1;
    this.#begin = Math.min(this.#begin, piece);
    this.#end = Math.max(this.#end, piece + 1);
  }

  #send(stream: Stream, { bytes }: PinnedBuffer, { begin, end }: { begin: number; end: number }): void {
    const offset = begin * BUFFER_ALIGNMENT;
    const byteLength = (end - begin) * BUFFER_ALIGNMENT;
    bytes.set(this.#bytes.subarray(offset, offset + byteLength), offset);
    stream.upload(bytes.subarray(offset, offset + byteLength), { buffer: this.#buffer, offset, byteLength });
    this.uploadedBytes += byteLength;
  }

  #offsetOf(name: string): number {
    const offset = this.#offsets.get(name);
    invariant(offset !== undefined, `${name} is kept`);
    return offset;
  }
}

import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type Stream,
} from '../../../src/device/index.ts';

/** Words that are NaN as f32, NaN in every other f16 and negative as i32, and tell where they stand. */
export function poison(bytes: Uint8Array, mark: number): Uint8Array {
  for (let i = 0; i < bytes.length; i += 4) {
    bytes.set([(i >> 2) & 0xff, mark, 0xc0, 0xff].slice(0, bytes.length - i), i);
  }
  return bytes;
}

const GUARD = BUFFER_ALIGNMENT;
const GUARD_MARK = 0xa5;

/** A range inside a larger buffer whose other bytes nobody may change. */
export class GuardedBuffer implements Disposable {
  readonly range: BufferRange;
  readonly #buffer: DeviceBuffer;
  readonly #image: Uint8Array;

  constructor(
    device: Device,
    readonly label: string,
    byteLength: number,
  ) {
    const padded = Math.ceil(byteLength / 4) * 4;
    this.#image = poison(new Uint8Array(GUARD + padded + GUARD), GUARD_MARK);
    this.#buffer = device.createBuffer(this.#image.byteLength, label);
    this.range = { buffer: this.#buffer, offset: GUARD, byteLength };
  }

  /** Writes guards and contents. */
  upload(stream: Stream, contents: Uint8Array): void {
    this.#image.set(contents, GUARD);
    stream.upload(this.#image, { buffer: this.#buffer, offset: 0, byteLength: this.#image.byteLength });
  }

  /** The contents; a guard byte that has changed is told to `violations`. */
  async download(stream: Stream, violations: string[]): Promise<Uint8Array> {
    const image = new Uint8Array(this.#image.byteLength);
    await stream.download({ buffer: this.#buffer, offset: 0, byteLength: image.byteLength }, image);
    const end = GUARD + this.range.byteLength;
    const changed = image.findIndex((byte, i) => (i < GUARD || i >= end) && byte !== this.#image[i]);
    if (changed >= 0) violations.push(`${this.label}: byte ${changed - GUARD} beside the range was written`);
    return image.subarray(GUARD, end);
  }

  [Symbol.dispose](): void {
    this.#buffer[Symbol.dispose]();
  }
}

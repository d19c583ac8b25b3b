import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type Stream,
} from '../../../src/device/index.ts';

/** Words that are NaN as f32, NaN in every other f16 and negative as i32, and that encode their position. */
export function poison(bytes: Uint8Array, mark: number): Uint8Array {
  const period = Math.min(1024, bytes.length);
  for (let i = 0; i < period; i += 4) {
    bytes[i] = i >> 2;
    bytes[i + 1] = mark;
    bytes[i + 2] = 0xc0;
    bytes[i + 3] = 0xff;
  }
  for (let done = period; done < bytes.length; done *= 2) bytes.copyWithin(done, 0, done);
  return bytes;
}

/** The size of a tile of rows in most cases, to catch reads of one tile too many. */
const GUARD = 64 * BUFFER_ALIGNMENT;
/** With this mark, every f16 is NaN. */
const GUARD_MARK = 0x7f;
const GUARD_BYTES = poison(new Uint8Array(GUARD), GUARD_MARK);

/**
 * A range inside a larger buffer whose other bytes must be neither changed nor used: results computed from them are
 * NaN, on devices that do not bounds-check reads.
 */
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
    this.#image = new Uint8Array(GUARD + padded + GUARD);
    this.#image.set(GUARD_BYTES);
    poison(this.#image.subarray(GUARD, GUARD + padded), GUARD_MARK);
    this.#image.set(GUARD_BYTES, GUARD + padded);
    this.#buffer = device.createBuffer(this.#image.byteLength, label);
    this.range = { buffer: this.#buffer, offset: GUARD, byteLength };
  }

  /** Writes the guards and the contents. */
  upload(stream: Stream, contents: Uint8Array): void {
    this.#image.set(contents, GUARD);
    stream.upload(this.#image, { buffer: this.#buffer, offset: 0, byteLength: this.#image.byteLength });
  }

  /** Returns the contents; reports changed guard bytes to `violations`. */
  async download(stream: Stream, violations: string[]): Promise<Uint8Array> {
    const image = new Uint8Array(this.#image.byteLength);
    await stream.download({ buffer: this.#buffer, offset: 0, byteLength: image.byteLength }, image);
    const end = GUARD + this.range.byteLength;
    const changed = this.#firstChange(image, 0, GUARD) ?? this.#firstChange(image, end, image.byteLength);
    if (changed !== undefined)
      violations.push(`${this.label}: byte ${changed - GUARD} beside the range was written`);
    return image.subarray(GUARD, end);
  }

  [Symbol.dispose](): void {
    this.#buffer[Symbol.dispose]();
  }

  #firstChange(found: Uint8Array, from: number, to: number): number | undefined {
    if (Buffer.compare(found.subarray(from, to), this.#image.subarray(from, to)) === 0) return undefined;
    for (let i = from; i < to; i++) if (found[i] !== this.#image[i]) return i;
    return undefined;
  }
}

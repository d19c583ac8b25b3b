import {
  type BufferRange,
  type Device,
  type DeviceEvent,
  type PackedWeight,
  RowStaging,
  type Step,
  type Stream,
  type WeightRows,
} from '../../device/index.ts';

/** Where rows belong. */
export interface RowsTarget {
  readonly weight: PackedWeight;
  readonly rows: WeightRows;
  readonly range: BufferRange;
}

/** A device's stream that is worked over a connection. An order that fails at once fails everything behind it, as one that fails later does. */
export class ServedStream implements AsyncDisposable {
  readonly #stream: Stream;
  readonly #staging: RowStaging;
  #error: unknown;

  constructor(device: Device, label: string) {
    this.#stream = device.createStream(label);
    this.#staging = new RowStaging(device);
  }

  upload(source: Uint8Array, target: () => BufferRange): void {
    this.#attempt(() => this.#stream.upload(source, target()));
  }

  copy(ranges: () => readonly [source: BufferRange, target: BufferRange]): void {
    this.#attempt(() => this.#stream.copy(...ranges()));
  }

  /** Packs rows out of pinned memory, which may have to become free first: what is behind it waits, too. */
  async pack(source: Uint8Array, target: () => RowsTarget): Promise<void> {
    if (this.#error !== undefined) return;
    try {
      const { weight, rows, range } = target();
      await this.#staging.pack(this.#stream, source.byteLength, {
        fill: (into) => into.set(source),
        pack: (pinned) => this.#stream.pack(weight, rows, { pinned, offset: 0 }, range),
      });
    } catch (error) {
      this.#error ??= error;
    }
  }

  run(step: () => Step): void {
    this.#attempt(() => this.#stream.run(step()));
  }

  wait(event: DeviceEvent): void {
    this.#attempt(() => this.#stream.wait(event));
  }

  /** Rejects with the first error of the stream. */
  async download(source: () => BufferRange, into: Uint8Array): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    await this.#stream.download(source(), into);
  }

  /** A point behind everything so far. Throws the first error of the stream if that was one of an order. */
  record(): DeviceEvent {
    if (this.#error !== undefined) throw this.#error;
    return this.#stream.record();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stream[Symbol.asyncDispose]();
    this.#staging[Symbol.dispose]();
  }

  #attempt(work: () => void): void {
    if (this.#error !== undefined) return;
    try {
      work();
    } catch (error) {
      this.#error = error;
    }
  }
}

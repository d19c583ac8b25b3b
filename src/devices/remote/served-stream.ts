import {
  type BufferRange,
  type Device,
  type PackedWeight,
  QueuedEvent,
  RowStaging,
  type Step,
  type Stream,
  type WeightRows,
  WorkQueue,
} from '../../device/index.ts';

/** Where rows belong. */
export interface RowsTarget {
  readonly weight: PackedWeight;
  readonly rows: WeightRows;
  readonly range: BufferRange;
}

/**
 * A device's stream that is worked over a connection. What an order needs is looked up when it arrives; one that fails, then or later,
 * fails everything behind it. Rows may have to be read, and to wait for pinned memory: what is behind them in this stream waits, too.
 */
export class ServedStream implements AsyncDisposable {
  readonly #stream: Stream;
  readonly #staging: RowStaging;
  readonly #queue = new WorkQueue();

  constructor(device: Device, label: string) {
    this.#stream = device.createStream(label);
    this.#staging = new RowStaging(device);
  }

  upload(source: Uint8Array, of: () => BufferRange): void {
    this.#order(of, (target) => this.#stream.upload(source, target));
  }

  copy(of: () => readonly [source: BufferRange, target: BufferRange]): void {
    this.#order(of, (ranges) => this.#stream.copy(...ranges));
  }

  pack(source: Uint8Array | Promise<Uint8Array>, of: () => RowsTarget): void {
    if (source instanceof Promise) source.catch(() => {});
    this.#order(of, async ({ weight, rows, range }) => {
      const bytes = await source;
      await this.#staging.pack(this.#stream, bytes.byteLength, {
        fill: (into) => into.set(bytes),
        pack: (pinned) => this.#stream.pack(weight, rows, { pinned, offset: 0 }, range),
      });
    });
  }

  run(of: () => Step): void {
    this.#order(of, (step) => this.#stream.run(step));
  }

  /** Waits for a point in another stream. */
  wait(point: QueuedEvent): void {
    this.#queue.push(async () => {
      for (const event of await point.reached) this.#stream.wait(event);
    });
  }

  /** Rejects with the first error of the stream. */
  download(source: BufferRange, into: Uint8Array): Promise<void> {
    return this.#queue.result(() => this.#stream.download(source, into));
  }

  /** A point behind everything so far. */
  record(): QueuedEvent {
    const event = new QueuedEvent();
    this.#queue.reach(event, () => [this.#stream.record()]);
    return event;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.record()
      .completed()
      .catch(() => {});
    await this.#stream[Symbol.asyncDispose]();
    this.#staging[Symbol.dispose]();
  }

  #order<T>(of: () => T, work: (needed: T) => void | Promise<void>): void {
    try {
      const needed = of();
      this.#queue.push(() => work(needed));
    } catch (error) {
      this.#queue.push(() => {
        throw error;
      });
    }
  }
}

import type { Device, Stream } from '../device/index.ts';

/** A stream and its index in a loader. */
export interface LoadStream {
  readonly index: number;
  readonly stream: Stream;
}

/** The streams of a loader, used in turn. They are created on first use; a failed one is replaced. */
export class LoadStreams implements AsyncDisposable {
  readonly #device: Device;
  readonly #streams: (Stream | undefined)[];
  readonly #ending = new Set<Promise<void>>();
  #next = 0;

  constructor(device: Device, count: number) {
    this.#device = device;
    this.#streams = Array.from({ length: count }, () => undefined);
  }

  /** The next stream. */
  take(): LoadStream {
    const index = this.#next;
    this.#next = (index + 1) % this.#streams.length;
    const stream = this.#streams[index] ?? this.#device.createStream(`load ${index}`);
    this.#streams[index] = stream;
    return { index, stream };
  }

  /** As many different streams as there are, at most `count`. */
  some(count: number): readonly LoadStream[] {
    return Array.from({ length: Math.min(count, this.#streams.length) }, () => this.take());
  }

  /** Replaces a stream that failed: a stream keeps its error. */
  replace({ index, stream }: LoadStream): void {
    if (this.#streams[index] !== stream) return;
    this.#streams[index] = undefined;
    this.#end(stream);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [index, stream] of this.#streams.entries()) {
      this.#streams[index] = undefined;
      if (stream) this.#end(stream);
    }
    await Promise.all(this.#ending);
  }

  #end(stream: Stream): void {
    const ending = Promise.resolve(stream[Symbol.asyncDispose]()).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

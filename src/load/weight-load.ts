import type { DeviceEvent, Stream } from '../device/index.ts';
import type { Chunk, WeightJob } from './weight-job.ts';

function nothing(): void {}

/** A promise with its resolvers. A rejection may stay unhandled: not everybody waits for both. */
class Outcome<T> {
  readonly promise: Promise<T>;
  resolve: (value: T) => void = nothing;
  reject: (error: unknown) => void = nothing;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(nothing);
  }
}

/** How a load is watched by whoever asked for it. */
export interface WeightLoadOptions {
  readonly signal?: AbortSignal | undefined;
  /** What the device has to reach before the weight's memory is written. */
  readonly after?: readonly DeviceEvent[] | undefined;
  readonly onRead?: (() => void) | undefined;
  readonly onArrived?: ((chunk: Chunk) => void) | undefined;
}

/**
 * One weight being loaded. Its chunks are handed out one by one; when one of them fails or the load is cancelled the rest is
 * skipped, and both promises reject once none of its chunks is in flight.
 */
export class WeightLoad {
  readonly job: WeightJob;
  readonly options: WeightLoadOptions;
  /** Settles when its files were looked at, where that is wanted. */
  unchanged: Promise<void> | undefined;
  readonly #queued = new Outcome<readonly DeviceEvent[]>();
  readonly #done = new Outcome<void>();
  readonly #chunks: readonly Chunk[];
  /** The last event of each stream that carries a chunk. */
  readonly #events = new Map<number, DeviceEvent>();
  /** The streams that wait for `after` already. */
  readonly #waiting = new Set<Stream>();
  #next = 0;
  #handedOver = 0;
  #underWay = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(job: WeightJob, chunks: readonly Chunk[], options: WeightLoadOptions) {
    this.job = job;
    this.#chunks = chunks;
    this.options = options;
    this.#settle();
  }

  /**
   * Resolves when every chunk was handed to a stream: whatever waits on the device for these events finds the weight
   * complete.
   */
  get queued(): Promise<readonly DeviceEvent[]> {
    return this.#queued.promise;
  }

  /** Resolves when the weight is on the device. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** True while there are chunks that nobody has taken. */
  get hasMore(): boolean {
    return this.#failure === undefined && this.#next < this.#chunks.length;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** The chunk that `take` gives, while `hasMore`. */
  get next(): Chunk | undefined {
    return this.#chunks[this.#next];
  }

  /** Takes the next chunk; `release` has to follow, also after an error. */
  take(): Chunk {
    this.#underWay++;
    return this.#chunks[this.#next++] as Chunk;
  }

  /** Makes a stream wait for the events that come before the weight's first byte. */
  holdBack(stream: Stream): void {
    if (this.#waiting.has(stream)) return;
    this.#waiting.add(stream);
    for (const event of this.options.after ?? []) stream.wait(event);
  }

  /** Notes a chunk as handed to a stream, and the event behind it. */
  handOver(stream: number, event: DeviceEvent): void {
    this.#events.set(stream, event);
    if (++this.#handedOver === this.#chunks.length) this.#queued.resolve([...this.#events.values()]);
  }

  /** Notes the end of a chunk that was taken. */
  release(): void {
    this.#underWay--;
    this.#settle();
  }

  /** Leaves the rest out. Only the first error counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#settle();
  }

  #settle(): void {
    if (this.#underWay > 0) return;
    if (this.#failure) {
      this.#queued.reject(this.#failure.error);
      this.#done.reject(this.#failure.error);
    } else if (this.#handedOver === this.#chunks.length) {
      this.#queued.resolve([...this.#events.values()]);
      this.#done.resolve();
    }
  }
}

/** Waits for all loads; the first that fails fails the others, and then the whole once nothing is under way. */
export async function allOrNone(loads: readonly WeightLoad[]): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  const ends = loads.map((load) =>
    load.done.catch((error: unknown) => {
      failure ??= { error };
      for (const other of loads) other.fail(error);
    }),
  );
  await Promise.all(ends);
  if (failure) throw failure.error;
}

import { invariant } from '../base/errors.ts';
import type { BufferRange, DeviceEvent } from '../device/index.ts';
import type { AsyncModelLoader } from './async-model-loader.ts';
import type { WeightJob } from './weight-job.ts';
import type { WeightLoad, WeightLoadOptions } from './weight-load.ts';

/** Where a lazy tensor's bytes are. `evicted`: they were on the device, and their memory was reused. */
export type TensorState = 'unloaded' | 'loading' | 'resident' | 'evicted';

/** For what waits for nothing. */
const NO_EVENTS: Promise<readonly DeviceEvent[]> = Promise.resolve([]);

/** A job whose memory may not be set aside yet. */
export type PlacelessJob = Omit<WeightJob, 'target'> & Partial<Pick<WeightJob, 'target'>>;

/**
 * A weight that is loaded when it is first asked for, once however many ask. A load that fails rejects for all who wait and
 * leaves the tensor unloaded: the next to ask tries again. Its owner allocates its memory before it is loaded.
 */
export class LazyTensor {
  readonly #of: PlacelessJob;
  readonly #loader: AsyncModelLoader;
  #job: WeightJob | undefined;
  /** Made once, so that a hit makes nothing. */
  #range: Promise<BufferRange> | undefined;
  #state: TensorState = 'unloaded';
  #load: WeightLoad | undefined;

  /** @internal */
  constructor(of: PlacelessJob, loader: AsyncModelLoader) {
    this.#of = of;
    this.#loader = loader;
    if (of.target) this.place(of.target);
  }

  /** How it is loaded to where it has its place. @internal */
  get job(): WeightJob {
    invariant(this.#job, 'a weight that is loaded has memory');
    return this.#job;
  }

  /** The file's names of what it is made of. */
  get names(): readonly string[] {
    return this.#of.tensors.map(({ name }) => name);
  }

  get byteLength(): number {
    return this.#of.weight.byteLength;
  }

  get state(): TensorState {
    return this.#state;
  }

  get isResident(): boolean {
    return this.#state === 'resident';
  }

  /**
   * Begins to load it behind all that was asked for before; gives the load that is under way or done already.
   * @internal
   */
  request(options: WeightLoadOptions = {}): WeightLoad {
    if (this.#load) return this.#load;
    const load = this.#loader.request(this.job, options);
    this.#load = load;
    this.#state = 'loading';
    load.done.then(
      () => this.#settle(load, 'resident'),
      () => this.#settle(load, 'unloaded'),
    );
    return load;
  }

  /**
   * Resolves when its bytes are on their way: work on a stream that waits for these events finds it complete. It has priority
   * over weights that nobody waits for.
   */
  queued(): Promise<readonly DeviceEvent[]> {
    if (this.#state === 'resident') return NO_EVENTS;
    const load = this.request();
    this.#loader.hurry(load);
    return load.queued;
  }

  /** Where it lies, when it is there. */
  ready(): Promise<BufferRange> {
    if (this.#state === 'resident' && this.#range) return this.#range;
    const { target } = this.job;
    const load = this.request();
    this.#loader.hurry(load);
    return load.done.then(() => target);
  }

  /** Gives it memory, while it is not loaded. @internal */
  place(target: BufferRange): void {
    invariant(this.#load === undefined, 'a weight is placed before it is loaded');
    this.#job = { ...this.#of, target };
    this.#range = Promise.resolve(target);
  }

  /** Marks it as evicted: the next request loads it again. @internal */
  evict(): void {
    if (this.#load === undefined) return;
    this.#load = undefined;
    this.#state = 'evicted';
  }

  /** Resolves when nothing writes its memory any more. @internal */
  async settled(): Promise<void> {
    await this.#load?.done.catch(() => {});
  }

  #settle(load: WeightLoad, state: TensorState): void {
    if (this.#load !== load) return;
    this.#state = state;
    if (state === 'unloaded') this.#load = undefined;
  }
}

import { invariant } from '../base/errors.ts';
import type { BufferRange, DeviceEvent, PackedWeight, Stream } from '../device/index.ts';
import type { TensorInfo } from '../gguf/tensor-info.ts';
import { type Chunk, chunksOf, type DecodePlace, type MatrixMove } from './chunk.ts';

/** Where a lazy tensor's bytes are. `evicted`: they were on the device, and their memory was reused. */
export type TensorState = 'unloaded' | 'loading' | 'resident' | 'evicted';

/** What `queued` gives for a resident tensor. */
const NO_EVENTS: Promise<readonly DeviceEvent[]> = Promise.resolve([]);

/** What a lazy tensor is made of. */
export interface LazyTensorSetup {
  /** How it lies on the device. */
  readonly packed: PackedWeight;
  /**
   * The file's tensors for its parts. A part whose format is not its tensor's is decoded on the way: F16 and F32 are the
   * formats that every other one can become.
   */
  readonly tensors: readonly TensorInfo[];
  /** Its rows are copied back to back instead of packed: for tensors that no program reads. */
  readonly plain?: boolean | undefined;
  /**
   * Its memory is slots for so many of its file's matrices, which stand one below another; only `moved`, or copies of the same weight
   * elsewhere, fill them.
   */
  readonly slots?: MatrixSlots | undefined;
  /** It is one matrix on its way to a slot. */
  readonly move?: MatrixMove | undefined;
}

/** How many matrices a weight has in its file, and for how many there is memory. */
export type MatrixSlots = Pick<MatrixMove, 'count' | 'slots'>;

/** What loads tensors: an `AsyncModelLoader`. */
export interface TensorLoader {
  request(tensor: LazyTensor, options: WeightLoadOptions): WeightLoad;
  hurry(load: WeightLoad): void;
}

/** How a tensor is loaded. */
export interface TensorLoading {
  /** Where parts are decoded whose format is not their tensor's; `device` only if the device supports it. Default `host`. */
  readonly decode?: DecodePlace | undefined;
  /** It is streamed: its memory is reused by other layers, and it is uploaded again in every step. */
  readonly streamed?: boolean | undefined;
}

/**
 * A weight of a model, from the compilation of its program on. Its owner gives it a loader and memory; it is loaded at its
 * first use, once however many ask. A failed load rejects for all who wait and leaves the tensor unloaded, so that the next
 * request tries again.
 */
export class LazyTensor {
  /** @internal */
  readonly packed: PackedWeight;
  /** @internal */
  readonly tensors: readonly TensorInfo[];
  /** @internal */
  readonly isPlain: boolean;
  /** Its slots, if these are its memory. @internal */
  readonly slots: MatrixSlots | undefined;
  readonly #move: MatrixMove | undefined;
  #loader: TensorLoader | undefined;
  #loading: TensorLoading = {};
  #range: BufferRange | undefined;
  /** Created once, so that a hit allocates nothing. */
  #ready: Promise<BufferRange> | undefined;
  #state: TensorState = 'unloaded';
  #load: WeightLoad | undefined;

  /** @internal */
  constructor({ packed, tensors, plain = false, slots, move }: LazyTensorSetup) {
    this.packed = packed;
    this.tensors = tensors;
    this.isPlain = plain;
    this.slots = slots;
    this.#move = move;
  }

  /** Equal for weights that can share memory: the same tensors in the same layout at the same place. @internal */
  get key(): string {
    const { layout, parts, stage } = this.packed;
    const { place } = parts[0] ?? {};
    const at = stage === undefined ? [] : [`stage ${stage}`];
    return [layout, ...at, ...(place ? [place] : []), ...this.names].join(' ');
  }

  /** True if its memory is the host's, which the device's kernels read. @internal */
  get isOnHost(): boolean {
    return this.packed.parts[0]?.place === 'host';
  }

  /** True if it has copies of a weight elsewhere. @internal */
  get isCopy(): boolean {
    return this.packed.parts[0]?.place === 'copies';
  }

  /** Names of the file's tensors that it is made of. */
  get names(): readonly string[] {
    return this.tensors.map(({ name }) => name);
  }

  get byteLength(): number {
    return this.packed.byteLength;
  }

  get state(): TensorState {
    return this.#state;
  }

  get isResident(): boolean {
    return this.#state === 'resident';
  }

  /** Its memory on the device. @internal */
  get range(): BufferRange {
    invariant(this.#range, `${this.key} has memory`);
    return this.#range;
  }

  /** True where it is uploaded again in every step. @internal */
  get isStreamed(): boolean {
    return this.#loading.streamed === true;
  }

  /** Sets its loader, and how it is loaded. @internal */
  loadBy(loader: TensorLoader, loading: TensorLoading = {}): void {
    this.#loader = loader;
    this.#loading = loading;
  }

  /** Gives it memory, while it is not loaded. @internal */
  place(range: BufferRange): void {
    invariant(this.#load === undefined, 'a weight is placed before it is loaded');
    this.#range = range;
    this.#ready = Promise.resolve(range);
  }

  /** Takes its memory away; nothing uses it any more. @internal */
  unplace(): void {
    this.evict();
    this.#range = undefined;
    this.#ready = undefined;
  }

  /** Its rows in pieces of at most `slotBytes`, or of as few as its layout allows. @internal */
  chunks(slotBytes: number): Chunk[] {
    const { decode = 'host' } = this.#loading;
    if (this.slots) return [];
    return chunksOf(this.packed, this.tensors, { decode, slotBytes, move: this.#move });
  }

  /** A matrix of the file, to be loaded into a slot of this weight's memory. @internal */
  moved(matrix: number, slot: number): LazyTensor {
    const { packed, tensors, slots } = this;
    invariant(slots && matrix < slots.count && slot < slots.slots, `${this.key} has the matrix and the slot`);
    const moved = new LazyTensor({ packed, tensors, move: { ...slots, matrix, slot } });
    moved.loadBy(this.#by, { ...this.#loading, streamed: true });
    moved.place(this.range);
    return moved;
  }

  /**
   * Begins to load it behind all that was asked for before; gives the load that is under way or done already.
   * @internal
   */
  request(options: WeightLoadOptions = {}): WeightLoad {
    if (this.#load) return this.#load;
    const load = this.#by.request(this, options);
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
    this.#by.hurry(load);
    return load.queued;
  }

  /** Resolves with its memory when it is resident. */
  ready(): Promise<BufferRange> {
    if (this.#state === 'resident' && this.#ready) return this.#ready;
    const { range } = this;
    const load = this.request();
    this.#by.hurry(load);
    return load.done.then(() => range);
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

  get #by(): TensorLoader {
    invariant(this.#loader, `${this.key} has a loader`);
    return this.#loader;
  }

  #settle(load: WeightLoad, state: TensorState): void {
    if (this.#load !== load) return;
    this.#state = state;
    if (state === 'unloaded') this.#load = undefined;
  }
}

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

/** Options of one load. */
export interface WeightLoadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Events that the device waits for before it writes the weight's memory. */
  readonly after?: readonly DeviceEvent[] | undefined;
  /**
   * Rows are copied from pinned pages while it is checked that these are still the file's: who uses the weight waits for `done`
   * before it shows what came of it. Default: they are checked before.
   */
  readonly checkBeside?: boolean | undefined;
  readonly onRead?: (() => void) | undefined;
  readonly onArrived?: ((chunk: Chunk) => void) | undefined;
}

/**
 * One load of a weight. Its chunks are handed out one by one; when one fails or the load is cancelled, the rest is skipped,
 * and both promises reject once none of its chunks is in flight.
 */
export class WeightLoad {
  readonly tensor: LazyTensor;
  readonly options: WeightLoadOptions;
  /** Settles when its files were checked for changes, if its pages are pinned. */
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

  constructor(tensor: LazyTensor, chunks: readonly Chunk[], options: WeightLoadOptions) {
    this.tensor = tensor;
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

  /** Makes a stream wait for `after`, before it writes the weight's first byte. */
  holdBack(stream: Stream): void {
    if (this.#waiting.has(stream)) return;
    this.#waiting.add(stream);
    for (const event of this.options.after ?? []) stream.wait(event);
  }

  /** Records that a chunk is queued on a stream, and the event behind it. */
  handOver(stream: number, event: DeviceEvent): void {
    this.#events.set(stream, event);
    if (++this.#handedOver === this.#chunks.length) this.#queued.resolve([...this.#events.values()]);
  }

  /** Records that a chunk that was taken has ended. */
  release(): void {
    this.#underWay--;
    this.#settle();
  }

  /** Fails the load: its other chunks are skipped. Only the first error is kept. */
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

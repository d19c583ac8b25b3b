import { Lifetime } from '../base/disposal.ts';
import { fail, RocmforgeError, throwIfAborted } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type {
  BlockDecoder,
  DecodeWork,
  Device,
  DeviceEvent,
  FileRows,
  MemoryBudget,
  PinnedRows,
  Stream,
} from '../device/index.ts';
import type { TensorFormat } from '../formats/index.ts';
import { type LoadBreakdown, LoadClock, type LoadPhase } from './load-clock.ts';
import type { Chunk } from './chunk.ts';
import { type LazyTensor, WeightLoad, type WeightLoadOptions } from './lazy-tensor.ts';
import { type LoadProgress, ProgressReporter } from './load-progress.ts';
import { LoadQueue } from './load-queue.ts';
import { type LoadStream, LoadStreams } from './load-streams.ts';
import { DEFAULT_SIZES, type LoaderSizes } from './loader-sizes.ts';
import type { LoadTrace } from './load-trace.ts';
import { PinnedPages } from './pinned-pages.ts';
import { PinnedRing, type RingSlot } from './pinned-ring.ts';
import { readChunk, WINDOW_SLACK_BYTES, windowOf } from './read-window.ts';
import { lanes, type AsyncPool } from '../base/async-pool.ts';
import { floatToHalf } from '../base/half.ts';

/** How a loader is sized. The defaults suit every device; models choose by theirs. */
export interface LoaderOptions extends Partial<LoaderSizes> {
  /** Chunks that are decoded concurrently, if weights are decoded on the host. Default: the decoder's maximum. */
  readonly threads?: number | undefined;
  /**
   * Host memory that may stay pinned for weights that are loaded repeatedly: pages of their file, from which the device
   * then copies directly. Loaders may share it. Default: none is pinned.
   */
  readonly hostMemory?: MemoryBudget | undefined;
  /** Decodes weights on the host; disposed by the caller. Default: the formats' own decoders, on the calling thread. */
  readonly decoder?: BlockDecoder | undefined;
  /** Records everything that takes time. */
  readonly trace?: LoadTrace | undefined;
  readonly logger?: Logger | undefined;
}

/** The names of `LoaderOptions`. */
export const LOADER_OPTIONS: OptionNames<LoaderOptions> = {
  ...{ readers: true, streams: true, slots: true, slotBytes: true },
  ...{ threads: true, hostMemory: true, decoder: true, trace: true, logger: true },
};

/** Options of one load. */
export interface LoadOptions {
  /** Called at every chunk with the progress of the load. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Cancels the load with `ABORTED`; chunks in flight are waited for. */
  readonly signal?: AbortSignal | undefined;
}

/** What a load moved, and where its time went. */
export interface LoadReport {
  /** File bytes. */
  readonly bytes: number;
  readonly tensors: number;
  readonly seconds: number;
  /** The seconds by phase. */
  readonly breakdown: LoadBreakdown;
}

/** Events around a chunk's copy, recorded where there is a trace. */
class ChunkEvents {
  copied: DeviceEvent | undefined;
  readonly onCopy: ((copied: DeviceEvent) => void) | undefined;

  constructor(readonly before: DeviceEvent | undefined) {
    if (before)
      this.onCopy = (copied) => {
        this.copied = copied;
      };
  }
}

/** Weights on their way from pinned pages. */
export interface PinnedCopy {
  /** After these events, a stream finds the weights complete. */
  readonly queued: readonly DeviceEvent[];
  /** Resolves when the weights are on the device. */
  readonly done: Promise<void>;
}

/** Maximum concurrent copies from pinned pages, or from a file of the device's process: more than two milliseconds of the link's time. More are not faster. */
const MAX_COPIES = 16;

/** One chunk at a time: read, decoded on one thread and copied before the next one starts; a synchronous loader. */
export const SYNCHRONOUS: LoaderOptions = { readers: 1, streams: 1, threads: 1, slots: 1 };

/**
 * Moves weights from files onto a device: several positional reads in flight into a small ring of pinned slots, rows decoded
 * on the host where the weight's format is not the file's, each slot packed by the device over one of several streams and
 * refilled after its own event. Nothing is read twice; weights go in the order of asking. Ring and streams are kept between
 * loads, until the loader is disposed.
 */
export class AsyncModelLoader implements AsyncDisposable {
  /** Where it loads to. @internal */
  readonly device: Device;
  readonly #slotBytes: number;
  readonly #decoder: BlockDecoder;
  readonly #trace: LoadTrace | undefined;
  readonly #clock = new LoadClock();
  readonly #queue = new LoadQueue();
  readonly #ring: PinnedRing;
  readonly #pages: PinnedPages;
  readonly #streams: LoadStreams;
  readonly #readers: number[];
  readonly #decoders: AsyncPool<number>;
  readonly #life = new Lifetime('the loader');
  readonly #underWay = new Set<Promise<void>>();
  /** Chunks that are being copied out of pinned pages. */
  #copies = 0;
  /** Since when chunks have been waiting only for a slot. */
  #waitingSince: number | undefined;

  /** Pins nothing yet. Throws `INVALID_ARGUMENT` for invalid counts. */
  constructor(device: Device, options: LoaderOptions = {}) {
    checkOptions('AsyncModelLoader', options, LOADER_OPTIONS);
    const { decoder = scalarDecoder, trace, hostMemory, logger = silentLogger } = options;
    const count = (name: keyof LoaderSizes) => positive(name, options[name] ?? DEFAULT_SIZES[name]);
    this.device = device;
    this.#slotBytes = count('slotBytes');
    this.#decoder = decoder;
    this.#trace = trace;
    this.#ring = new PinnedRing(device, {
      slots: count('slots'),
      slotBytes: this.#slotBytes + WINDOW_SLACK_BYTES,
      share: decoder.share?.bind(decoder),
      onPin: (pin) => this.#timed('pin', pin),
    });
    this.#pages = new PinnedPages(device, {
      budget: hostMemory,
      logger,
      onPin: (chunk, since, pin) => {
        const pinned = this.#timed('pin', pin);
        this.#note('pages', chunk, since);
        return pinned;
      },
    });
    this.#streams = new LoadStreams(device, count('streams'));
    this.#readers = Array.from({ length: count('readers') }, (_, reader) => reader);
    this.#decoders = lanes(positive('threads', options.threads ?? decoder.threads));
  }

  /** Decodes on the host; the caller owns it. */
  get decoder(): BlockDecoder {
    return this.#decoder;
  }

  /**
   * Resolves when every tensor is on the device. Rejects with the first failure (`READ_…`, `SOURCE_CHANGED`, `ABORTED`,
   * `OUT_OF_MEMORY`, the device's error) once all work of the load has stopped. `begin` starts the load of each, by
   * default a new one; if it returns one that was started before, that one is not affected by the signal or the
   * progress.
   * @internal
   */
  async load(
    tensors: readonly LazyTensor[],
    { signal, onProgress }: LoadOptions = {},
    begin = (tensor: LazyTensor, watch: WeightLoadOptions) => this.request(tensor, watch),
  ): Promise<LoadReport> {
    throwIfAborted(signal, 'loading');
    const before = this.#clock.breakdown();
    const chunks = tensors.flatMap((tensor) => tensor.chunks(this.#slotBytes));
    const progress = new ProgressReporter(chunks, onProgress);
    const onRead = () => progress.read();
    const onArrived = (chunk: Chunk) => progress.arrived(chunk);
    await allOrNone(tensors.map((tensor) => begin(tensor, { signal, onRead, onArrived })));
    const sources = new Set(tensors.flatMap((tensor) => tensor.tensors.map(({ source }) => source)));
    for (const source of sources) await source.checkUnchanged?.();
    const { seconds, totalBytes: bytes, totalTensors } = progress;
    return { bytes, tensors: totalTensors, seconds, breakdown: this.#clock.since(before) };
  }

  /** The trace that the load is recorded in. */
  get trace(): LoadTrace | undefined {
    return this.#trace;
  }

  /** Starts loading one weight; earlier requests come first. @internal */
  request(tensor: LazyTensor, options: WeightLoadOptions = {}): WeightLoad {
    this.#life.check();
    const chunks = tensor.chunks(this.#slotBytes);
    if (tensor.isStreamed) this.#pages.ask(chunks);
    const load = new WeightLoad(tensor, chunks, options);
    this.#queue.add(load);
    this.#advance();
    return load;
  }

  /**
   * Copies weights from pinned pages at once, behind `after` and what the streams already carry: undefined, and nothing is
   * queued, unless all their pages are pinned. Costs the host little, as chunks have no events of their own.
   * Whoever uses the weights waits for `done` before it shows what came of them, and for `checkUnchanged` behind that: whether
   * the pages are still the file's is up to the caller, as one check serves many copies.
   * @internal
   */
  copyPinned(tensors: readonly LazyTensor[], after: readonly DeviceEvent[]): PinnedCopy | undefined {
    this.#life.check();
    const copies = tensors.flatMap((tensor) => this.#pinnedRows(tensor));
    if (this.#trace || copies.length === 0 || !copies.every(({ rows }) => rows)) return undefined;
    const streams = this.#streams.some(copies.length);
    for (const { stream } of streams) for (const event of after) stream.wait(event);
    for (const [i, { tensor, chunk, rows }] of copies.entries()) {
      const { stream } = streams[i % streams.length] as LoadStream;
      handToStream(stream, tensor, chunk, { ...(rows as PinnedRows), maxBytes: this.#slotBytes });
    }
    const queued = streams.map(({ stream }) => stream.record());
    const done = this.#copied(streams, queued);
    const settled = done.then(nothing, nothing).then(() => void this.#underWay.delete(settled));
    this.#underWay.add(settled);
    return { queued, done };
  }

  #pinnedRows(tensor: LazyTensor) {
    const chunks = tensor.chunks(this.#slotBytes);
    return chunks.map((chunk) => ({ tensor, chunk, rows: this.#pages.rowsOf(chunk) }));
  }

  /** Rejects with `SOURCE_CHANGED` if a weight's file is no longer the one that was opened. @internal */
  checkUnchanged(tensor: LazyTensor): Promise<void> {
    return this.#pages.checkUnchanged(tensor);
  }

  /** Resolves when copies over these streams have arrived. Rejects once all have ended. */
  async #copied(streams: readonly LoadStream[], events: readonly DeviceEvent[]): Promise<void> {
    const ends = events.map(async (event, i) => {
      try {
        await event.completed();
      } catch (error) {
        this.#streams.replace(streams[i] as LoadStream);
        throw error;
      }
    });
    const failed = (await Promise.allSettled(ends)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** Gives priority to a weight that something is waiting for. @internal */
  hurry(load: WeightLoad): void {
    this.#queue.hurry(load);
  }

  /** Fails pending loads, and resolves when nothing is in flight and everything is released. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#life.end()) return;
    this.#queue.fail(new RocmforgeError('DISPOSED', { what: 'the loader' }));
    await Promise.all(this.#underWay);
    await using _pages = this.#pages;
    using _ring = this.#ring;
    await this.#streams[Symbol.asyncDispose]();
  }

  /**
   * Starts chunks while possible: from pinned pages while copies are free, others while there is a reader and a slot.
   * Called whenever one of these may have become free.
   */
  #advance(): void {
    for (;;) {
      const load = this.#queue.next();
      const rows = load?.next && (this.#ownRows(load, load.next) ?? this.#pages.rowsOf(load.next));
      if (load && rows) {
        this.#noteWaiting(false);
        if (this.#copies === MAX_COPIES) return;
        this.#startCopy(load, load.take(), rows);
        continue;
      }
      const isReady = load !== undefined && this.#readers.length > 0;
      const slot = isReady ? this.#ring.take() : undefined;
      this.#noteWaiting(isReady && !slot);
      if (!load || !slot) return;
      this.#start(load, load.take(), { slot, reader: this.#readers.shift() ?? 0 });
    }
  }

  /** Where a chunk is in the file that the device's process has itself; undefined if it has none, or cannot use it as it is. */
  #ownRows({ tensor: { packed, isPlain } }: WeightLoad, chunk: Chunk): FileRows | undefined {
    return !isPlain && packed.hasOwn?.(chunk.tensor) ? fileRows(chunk) : undefined;
  }

  #start(load: WeightLoad, chunk: Chunk, on: { slot: RingSlot; reader: number }): void {
    this.#track(load, this.#move(load, chunk, on), () => this.#ring.give(on.slot));
  }

  #startCopy(load: WeightLoad, chunk: Chunk, rows: PinnedRows | FileRows): void {
    this.#copies++;
    this.#track(load, this.#copy(load, chunk, rows), () => this.#copies--);
  }

  /** Ends a chunk, whether it succeeds or fails. */
  #track(load: WeightLoad, move: Promise<void>, end: () => void): void {
    const moving = move
      .catch((error: unknown) => load.fail(error))
      .then(() => {
        end();
        this.#underWay.delete(moving);
        load.release();
        this.#advance();
      });
    this.#underWay.add(moving);
  }

  async #move(load: WeightLoad, chunk: Chunk, { slot, reader }: { slot: RingSlot; reader: number }) {
    const read = await this.#read(load, chunk, { slot, reader });
    const { become } = chunk;
    if (become) await this.#decode(chunk, become, { slot, read });
    const offset = become ? 0 : read;
    await this.#hand(load, chunk, { pinned: slot.pinned(offset + chunk.bytes), offset });
  }

  async #copy(load: WeightLoad, chunk: Chunk, rows: PinnedRows | FileRows): Promise<void> {
    const unchanged = (load.unchanged ??= this.#pages.checkUnchanged(load.tensor));
    const { checkBeside, onRead } = load.options;
    if (!checkBeside) await unchanged;
    onRead?.();
    await Promise.all([this.#hand(load, chunk, rows), unchanged]);
  }

  /** Queues a chunk on a stream; resolves when it is on the device. */
  async #hand(load: WeightLoad, chunk: Chunk, of: PinnedRows | FileRows): Promise<void> {
    const { signal, onArrived } = load.options;
    throwIfAborted(signal, 'loading');
    if (load.failed) return;
    const on = this.#streams.take();
    load.holdBack(on.stream);
    const events = new ChunkEvents(this.#trace && on.stream.record());
    const { onCopy } = events;
    handToStream(on.stream, load.tensor, chunk, { ...of, maxBytes: this.#slotBytes, onCopy });
    const after = on.stream.record();
    load.handOver(on.index, after);
    await this.#arrive(chunk, on, after, events);
    onArrived?.(chunk);
  }

  /**
   * Reads a chunk, into pinned memory unless it is decoded from there; returns where its rows start, and frees the
   * reader.
   */
  async #read(
    { options: { signal, onRead } }: WeightLoad,
    chunk: Chunk,
    { slot, reader }: { slot: RingSlot; reader: number },
  ): Promise<number> {
    const since = this.#clock.begin('read');
    try {
      const { length } = windowOf(chunk);
      const bytes = chunk.become ? slot.host(length) : slot.fillable(length);
      const offset = await readChunk(chunk, bytes, signal);
      onRead?.();
      this.#note(`reader ${reader}`, chunk, since);
      return offset;
    } finally {
      this.#clock.end('read', since);
      this.#readers.unshift(reader);
      this.#advance();
    }
  }

  /** Decodes the data into the start of the slot's pinned memory. */
  async #decode(
    chunk: Chunk,
    become: TensorFormat,
    { slot, read }: { slot: RingSlot; read: number },
  ): Promise<void> {
    const lane = await this.#decoders.take();
    const since = this.#clock.begin('decode');
    try {
      const source = slot.host(windowOf(chunk).length).subarray(read, read + chunk.fileBytes);
      const into = slot.fillable(chunk.bytes).subarray(0, chunk.bytes);
      await this.#decoder.decode({ format: chunk.tensor.format, source, become, into });
      this.#note(`decoder ${lane}`, chunk, since);
    } finally {
      this.#clock.end('decode', since);
      this.#decoders.give(lane);
    }
  }

  async #arrive(chunk: Chunk, on: LoadStream, after: DeviceEvent, events: ChunkEvents): Promise<void> {
    const since = this.#clock.begin('upload');
    try {
      await after.completed();
    } catch (error) {
      this.#streams.replace(on);
      throw error;
    } finally {
      this.#clock.end('upload', since);
    }
    const { before, copied } = events;
    if (!before) return;
    const end = performance.now();
    const copyEnd = copied ? end - after.elapsedSince(copied) : end;
    this.#note(`stream ${on.index}`, chunk, end - after.elapsedSince(before), copyEnd);
    if (!copied) return;
    this.#clock.add('repack', end - copyEnd);
    this.#note(`repack ${on.index}`, chunk, copyEnd, end);
  }

  /** Records in the trace what has just ended. */
  #note(row: string, { tensor, fileBytes, bytes }: Chunk, begin: number, end = performance.now()): void {
    const moved = row.startsWith('reader') ? fileBytes : bytes;
    this.#trace?.add({ row, name: tensor.name, begin, end, bytes: moved });
  }

  #noteWaiting(isWaiting: boolean): void {
    if (isWaiting) this.#waitingSince ??= this.#clock.begin('wait');
    else if (this.#waitingSince !== undefined) {
      this.#clock.end('wait', this.#waitingSince);
      this.#waitingSince = undefined;
    }
  }

  #timed<T>(phase: LoadPhase, work: () => T): T {
    const since = this.#clock.begin(phase);
    try {
      return work();
    } finally {
      this.#clock.end(phase, since);
    }
  }
}

function nothing(): void {}

/** Where a chunk is in the model's file; undefined for one that becomes another format. */
function fileRows({ tensor, fileOffset, become }: Chunk): FileRows | undefined {
  return become ? undefined : { tensor, offset: fileOffset - tensor.offset };
}

function handToStream(
  stream: Stream,
  { packed, range, isPlain }: LazyTensor,
  chunk: Chunk,
  from: PinnedRows | FileRows,
): void {
  if ('tensor' in from) return stream.packOwn?.(packed, chunk, from, range);
  if (!isPlain) return stream.pack(packed, chunk, { ...from, file: fileRows(chunk) }, range);
  const { firstRow, rowCount, bytes } = chunk;
  const { pinned, offset } = from;
  const at = range.offset + (bytes / rowCount) * firstRow;
  const target = { buffer: range.buffer, offset: at, byteLength: bytes };
  stream.upload(pinned.bytes.subarray(offset, offset + bytes), target);
}

/** Waits for all loads; the first failure fails the others, and then the whole once everything has stopped. */
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

function positive(name: string, count: number): number {
  if (Number.isSafeInteger(count) && count > 0) return count;
  return fail('INVALID_ARGUMENT', { name, found: String(count), expected: 'a positive whole number' });
}

/** Decodes on the calling thread with the formats' own decoders: available everywhere, but slow. */
export const scalarDecoder: BlockDecoder = {
  threads: 1,
  async decode(work) {
    decodeScalar(work);
  },
  async [Symbol.asyncDispose]() {},
};

function decodeScalar({ format, source, become, into }: DecodeWork): void {
  const blocks = source.byteLength / format.blockBytes;
  const floats = new Float32Array(blocks * format.blockElements);
  format.decode(source, 0, floats, 0, blocks);
  if (become.name === 'F16') into.set(new Uint8Array(Uint16Array.from(floats, floatToHalf).buffer));
  else into.set(new Uint8Array(floats.buffer));
}

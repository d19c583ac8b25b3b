import { alignUp } from '../base/bytes.ts';
import { invariant, RocmforgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type Device, MemoryBudget, type PinnedBuffer, type PinnedRows } from '../device/index.ts';
import type { TensorInfo } from '../gguf/tensor-info.ts';
import type { ByteSource, MappedRange } from '../io/index.ts';
import type { Chunk } from './chunk.ts';
import type { LazyTensor } from './lazy-tensor.ts';

/** Options of pinned pages. */
export interface PinnedPagesOptions {
  /** The budget from which pinned bytes are taken. Default: nothing may be pinned. */
  readonly budget?: MemoryBudget | undefined;
  readonly logger: Logger;
  /** Called around the pinning of a chunk's pages, which started at `since` by reading them into memory. */
  onPin<T>(chunk: Chunk, since: number, pin: () => T): T;
}

/** The pinned pages of a chunk. */
interface Held extends PinnedRows {
  readonly range: MappedRange;
  readonly fileBytes: number;
  /** Bytes taken from the budget. */
  readonly taken: number;
}

/** Where rows of a file are that were asked for. */
interface Place {
  isWanted: boolean;
  held: Held | undefined;
}

/** All page sizes divide it. */
const PAGE_BYTES = 2 ** 16;

/** Unpinning a chunk takes 0.2 ms: the event loop runs after every so many. */
const GIVEN_BACK_AT_ONCE = 32;

/**
 * Pages of files that stay pinned, so that the device copies streamed weights straight from the page cache. Chunks are
 * pinned one by one in the background, so that reads keep their pace, and from the second request of a weight on, because
 * the first may be the only one. The first refusal, by the budget, the system or the driver, ends the pinning; what is not
 * pinned goes on being read.
 */
export class PinnedPages implements AsyncDisposable {
  readonly #device: Device;
  readonly #options: PinnedPagesOptions;
  readonly #budget: MemoryBudget;
  /** By tensor and offset in its file. */
  readonly #places = new Map<TensorInfo, Map<number, Place>>();
  /** Checks in progress, by source. */
  readonly #looks = new Map<ByteSource, Promise<void>>();
  #wanted: Chunk[] = [];
  #working: Promise<void> | undefined;
  /** False once no more pages are pinned. */
  #goesOn: boolean;

  /** Pins nothing yet. */
  constructor(device: Device, options: PinnedPagesOptions) {
    this.#device = device;
    this.#options = options;
    this.#budget = options.budget ?? new MemoryBudget('host', 0);
    this.#goesOn = this.#budget.total > 0 && device.pinReadOnly !== undefined;
  }

  /** Notes that rows were asked for: from the second time on, their pages are to be pinned. */
  ask(chunks: readonly Chunk[]): void {
    const again = chunks.filter((chunk) => {
      const known = this.#placeOf(chunk);
      if (!known) this.#placesOf(chunk).set(chunk.fileOffset, { isWanted: false, held: undefined });
      if (!known || known.isWanted) return false;
      known.isWanted = true;
      return true;
    });
    this.#want(again);
  }

  /** Location of a chunk's rows; undefined if its pages are not pinned. */
  rowsOf(chunk: Chunk): PinnedRows | undefined {
    const held = this.#placeOf(chunk)?.held;
    return held && held.fileBytes >= chunk.fileBytes && !chunk.become ? held : undefined;
  }

  /** Rejects with `SOURCE_CHANGED` if the pages no longer belong to the file that was opened. */
  async checkUnchanged({ tensors }: LazyTensor): Promise<void> {
    for (const source of new Set(tensors.map((tensor) => tensor.source))) await this.#look(source);
  }

  /**
   * Releases everything; nothing copies from it any more. Rejects with the first `DRIVER_CALL` if the driver refuses to
   * unpin, after everything else is released.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.#working;
    const refusals: unknown[] = [];
    let given = 0;
    for (const { held } of [...this.#places.values()].flatMap((places) => [...places.values()])) {
      if (!held) continue;
      try {
        this.#giveBack(held);
      } catch (error) {
        refusals.push(error);
      }
      if (++given % GIVEN_BACK_AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    this.#places.clear();
    if (refusals.length > 0) throw refusals[0];
  }

  /**
   * Pages that the driver does not unpin are unmapped anyway: the system keeps them as long as something holds them.
   */
  #giveBack({ pinned, range, taken }: Held): void {
    this.#budget.give(taken);
    try {
      pinned[Symbol.dispose]();
    } finally {
      range[Symbol.dispose]();
    }
  }

  #placesOf({ tensor }: Chunk): Map<number, Place> {
    const places = this.#places.get(tensor) ?? new Map<number, Place>();
    this.#places.set(tensor, places);
    return places;
  }

  #placeOf({ tensor, fileOffset }: Chunk): Place | undefined {
    return this.#places.get(tensor)?.get(fileOffset);
  }

  /** Concurrent requests share one check. */
  #look(source: ByteSource): Promise<void> | undefined {
    const known = this.#looks.get(source);
    if (known || !source.checkUnchanged) return known;
    const look = source.checkUnchanged().finally(() => this.#looks.delete(source));
    this.#looks.set(source, look);
    return look;
  }

  #want(chunks: readonly Chunk[]): void {
    if (!this.#goesOn) return;
    this.#wanted.push(...chunks.filter(({ become, tensor }) => !become && tensor.source.map));
    if (this.#wanted.length > 0) this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    for (let next = this.#wanted.shift(); next; next = this.#wanted.shift()) await this.#pin(next);
    this.#working = undefined;
  }

  async #pin(chunk: Chunk): Promise<void> {
    const { fileOffset, fileBytes } = chunk;
    const { source } = chunk.tensor;
    // A chunk may start and end anywhere within pages.
    const taken = alignUp(fileBytes, PAGE_BYTES) + PAGE_BYTES;
    if (taken > this.#budget.info.free) return this.#refuse(source, 'the memory for it is used up');
    this.#budget.take(taken, 'file pages');
    const since = performance.now();
    let range: MappedRange | undefined;
    try {
      range = await source.map?.(fileOffset, fileBytes);
      if (!range) this.#refuse(source, 'the system does not map it');
      const pinned = range && this.#goesOn ? this.#pinRange(chunk, range, since) : undefined;
      if (range && pinned) {
        const place = this.#placeOf(chunk);
        invariant(place, 'what is pinned was asked for');
        place.held = { pinned, offset: range.lead, range, taken, fileBytes };
        return;
      }
    } catch (error) {
      this.#refuse(source, error instanceof RocmforgeError ? error.message : String(error));
    }
    range?.[Symbol.dispose]();
    this.#budget.give(taken);
  }

  #pinRange(chunk: Chunk, { bytes }: MappedRange, since: number): PinnedBuffer | undefined {
    return this.#options.onPin(chunk, since, () => this.#device.pinReadOnly?.(bytes, 'file pages'));
  }

  /** Stops pinning; the first reason is logged. */
  #refuse(source: ByteSource, reason: string): void {
    if (this.#goesOn)
      this.#options.logger.debug('no more of a file is pinned', { file: source.name, reason });
    this.#stop();
  }

  #stop(): void {
    this.#goesOn = false;
    this.#wanted = [];
  }
}

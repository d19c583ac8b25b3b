import { throwIfAborted } from '../base/errors.ts';
import type { BufferRange, Device, PackedWeight, Stream } from '../device/index.ts';
import type { TensorInfo } from '../gguf/tensor-info.ts';
import type { LoadProgress } from './load-progress.ts';
import { PinnedRing } from './pinned-ring.ts';

/** A packed weight, where it goes, and the file's tensors for its parts. */
export interface WeightJob {
  readonly weight: PackedWeight;
  readonly target: BufferRange;
  readonly tensors: readonly TensorInfo[];
}

/** How a load is watched, ended and sized. */
export interface LoadOptions {
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Pinned slots, and so reads in flight. */
  readonly slots?: number;
  readonly slotBytes?: number;
}

/** Eight reads of 4 MiB keep a page cache busy; more memory pinned gains nothing. */
const DEFAULT_SLOTS = 8;
const DEFAULT_SLOT_BYTES = 4 * 1024 * 1024;

/** Host memory that a load takes unless options say otherwise. */
export const DEFAULT_RING_BYTES = DEFAULT_SLOTS * DEFAULT_SLOT_BYTES;

/** Some rows of one tensor: what fits into a slot. */
interface Chunk {
  readonly job: WeightJob;
  readonly part: number;
  readonly tensor: TensorInfo;
  readonly firstRow: number;
  readonly rowCount: number;
  readonly rowBytes: number;
}

/**
 * Moves weights from the file onto a device: many positional reads in flight into a ring of pinned slots, each slot packed
 * by the device as soon as it is full and refilled as soon as the device has read it. Nothing is read twice, the weights
 * are loaded in the order of the jobs.
 */
export class AsyncModelLoader {
  readonly #device: Device;
  readonly #options: LoadOptions;

  constructor(device: Device, options: LoadOptions = {}) {
    this.#device = device;
    this.#options = options;
  }

  /** Resolves when every weight is on the device. Rejects with the first failure after all reads under way have ended. */
  async load(jobs: readonly WeightJob[]): Promise<void> {
    const chunks = chunksOf(jobs, this.#options.slotBytes ?? DEFAULT_SLOT_BYTES);
    const largest = chunks.reduce((most, { rowBytes, rowCount }) => Math.max(most, rowBytes * rowCount), 1);
    using ring = new PinnedRing(this.#device, this.#options.slots ?? DEFAULT_SLOTS, largest);
    await using stream = this.#device.createStream('load');
    const progress = new ProgressReporter(chunks, this.#options.onProgress);
    await this.#pump(chunks, { ring, stream, progress });
    await stream.synchronize();
  }

  async #pump(
    chunks: readonly Chunk[],
    by: { ring: PinnedRing; stream: Stream; progress: ProgressReporter },
  ): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    const pending = new Set<Promise<void>>();
    for (const chunk of chunks) {
      const slot = await by.ring.take();
      if (failure || this.#options.signal?.aborted) {
        by.ring.give(slot);
        break;
      }
      const move = this.#move(chunk, { ...by, slot })
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => {
          by.ring.give(slot);
          pending.delete(move);
        });
      pending.add(move);
    }
    await Promise.all(pending);
    throwIfAborted(this.#options.signal, 'loading');
    if (failure) throw failure.error;
  }

  async #move(
    chunk: Chunk,
    by: { slot: Awaited<ReturnType<PinnedRing['take']>>; stream: Stream; progress: ProgressReporter },
  ): Promise<void> {
    const { job, part, tensor, firstRow, rowCount, rowBytes } = chunk;
    const bytes = by.slot.bytes.subarray(0, rowCount * rowBytes);
    await tensor.source.read(tensor.offset + firstRow * rowBytes, bytes, this.#options.signal);
    by.stream.pack(job.weight, part, { pinned: by.slot, offset: 0, firstRow, rowCount }, job.target);
    await by.stream.record().completed();
    by.progress.add(chunk);
  }
}

function chunksOf(jobs: readonly WeightJob[], slotBytes: number): Chunk[] {
  const chunks: Chunk[] = [];
  for (const job of jobs) {
    job.weight.parts.forEach((weight, part) => {
      const tensor = job.tensors[part] as TensorInfo;
      const { blockElements, blockBytes } = weight.format;
      const rowBytes = (weight.columns / blockElements) * blockBytes;
      const align = job.weight.rowAlignment;
      const most = Math.max(align, Math.floor(slotBytes / rowBytes / align) * align);
      for (let firstRow = 0; firstRow < weight.rows; firstRow += most) {
        const rowCount = Math.min(most, weight.rows - firstRow);
        chunks.push({ job, part, tensor, firstRow, rowCount, rowBytes });
      }
    });
  }
  return chunks;
}

/** Counts what has arrived; a tensor counts when its last chunk has. */
class ProgressReporter {
  readonly #left = new Map<string, number>();
  readonly #totalTensors: number;
  readonly #totalBytes: number;
  readonly #begin = performance.now();
  #bytes = 0;

  constructor(
    chunks: readonly Chunk[],
    readonly report: ((progress: LoadProgress) => void) | undefined,
  ) {
    for (const { tensor } of chunks) this.#left.set(tensor.name, (this.#left.get(tensor.name) ?? 0) + 1);
    this.#totalTensors = this.#left.size;
    this.#totalBytes = chunks.reduce((sum, { rowBytes, rowCount }) => sum + rowBytes * rowCount, 0);
  }

  add({ tensor, rowBytes, rowCount }: Chunk): void {
    this.#bytes += rowBytes * rowCount;
    const left = (this.#left.get(tensor.name) ?? 1) - 1;
    if (left === 0) this.#left.delete(tensor.name);
    else this.#left.set(tensor.name, left);
    this.report?.({
      bytes: this.#bytes,
      totalBytes: this.#totalBytes,
      tensors: this.#totalTensors - this.#left.size,
      totalTensors: this.#totalTensors,
      tensor: tensor.name,
      seconds: (performance.now() - this.#begin) / 1000,
    });
  }
}

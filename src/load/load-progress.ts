import type { Chunk } from './chunk.ts';

/** The progress of a load. */
export interface LoadProgress {
  /** `reading` until the last byte is read, `finishing` while the device still copies, `ready` at the end. */
  readonly phase: 'reading' | 'finishing' | 'ready';
  /** File bytes read and on the device. */
  readonly bytes: number;
  /** File bytes to load. */
  readonly totalBytes: number;
  /** Tensors that are completely on the device. */
  readonly tensors: number;
  /** Tensors to load. */
  readonly totalTensors: number;
  /** The latest tensor. */
  readonly tensor: string;
  /** Seconds since the load began. */
  readonly seconds: number;
  /** Billions of file bytes per second so far. */
  readonly gigabytesPerSecond: number;
  /** Estimated seconds for the rest; 0 at the end. */
  readonly secondsLeft: number;
}

/** Counts the chunks that have arrived; a tensor counts when its last chunk has. */
export class ProgressReporter {
  readonly #left = new Map<string, number>();
  readonly #totalTensors: number;
  readonly #totalBytes: number;
  readonly #begin = performance.now();
  readonly #report: ((progress: LoadProgress) => void) | undefined;
  #unread: number;
  #bytes = 0;

  constructor(chunks: readonly Chunk[], report: ((progress: LoadProgress) => void) | undefined) {
    this.#report = report;
    for (const { tensor } of chunks) this.#left.set(tensor.name, (this.#left.get(tensor.name) ?? 0) + 1);
    this.#totalTensors = this.#left.size;
    this.#totalBytes = chunks.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
    this.#unread = chunks.length;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  get totalTensors(): number {
    return this.#totalTensors;
  }

  get seconds(): number {
    return (performance.now() - this.#begin) / 1000;
  }

  /** Records a chunk as read. */
  read(): void {
    this.#unread--;
  }

  /** Records a chunk as being on the device. */
  arrived({ tensor, fileBytes }: Chunk): void {
    this.#bytes += fileBytes;
    const left = (this.#left.get(tensor.name) ?? 1) - 1;
    if (left === 0) this.#left.delete(tensor.name);
    else this.#left.set(tensor.name, left);
    this.#report?.(this.#progress(tensor.name));
  }

  #progress(tensor: string): LoadProgress {
    const { seconds } = this;
    const arriving = this.#unread > 0 ? 'reading' : 'finishing';
    return {
      phase: this.#left.size === 0 ? 'ready' : arriving,
      bytes: this.#bytes,
      totalBytes: this.#totalBytes,
      tensors: this.#totalTensors - this.#left.size,
      totalTensors: this.#totalTensors,
      tensor,
      seconds,
      gigabytesPerSecond: this.#bytes / Math.max(seconds, 1e-9) / 1e9,
      secondsLeft: (seconds * (this.#totalBytes - this.#bytes)) / Math.max(1, this.#bytes),
    };
  }
}

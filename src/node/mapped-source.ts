import { fail } from '../base/errors.ts';
import type { MappedRange } from '../io/index.ts';
import { FileSource, type OpenedFile, openRegularFile } from './file-source.ts';
import { MappedRanges } from './mapped-ranges.ts';
import { loadMemoryMapper, MAP_ALIGNMENT, type Mapping, type MemoryMapper } from './memory-mapper.ts';

/** A view of more than 4 GiB aborts Node 20; windows start at every half of this. */
const DEFAULT_WINDOW_BYTES = 2 ** 31;

/** Shorter reads always go through the page cache. */
const MIN_DIRECT_BYTES = 512 << 10;

/** Number of sampled pages; a range is cold if none of them is in memory. */
const RESIDENCY_SAMPLES = 4;

/** Options of a mapped file. */
export interface MappedSourceOptions {
  /** Bytes of one window, a multiple of 128 KiB; views of up to half of it are possible everywhere. */
  readonly windowBytes?: number;
}

/**
 * A file whose bytes can be viewed without a copy, mapped in overlapping windows when they are first accessed. Reads go
 * through the file, so that page faults never block the thread that waits for them. The file must not shrink while it
 * is open: touching a missing page kills the process.
 */
export class MappedSource extends FileSource {
  readonly #mapper: MemoryMapper;
  readonly #stride: number;
  readonly #windows = new Map<number, Mapping>();
  readonly #ranges: MappedRanges;

  private constructor(file: OpenedFile, mapper: MemoryMapper, windowBytes: number) {
    super(file);
    this.#mapper = mapper;
    this.#stride = windowBytes / 2;
    this.#ranges = new MappedRanges(mapper, file.handle.fd);
  }

  /** Rejects with `SOURCE_UNAVAILABLE` if the file cannot be read or mapped on this machine. */
  static override async open(path: string, options: MappedSourceOptions = {}): Promise<MappedSource> {
    const windowBytes = options.windowBytes ?? DEFAULT_WINDOW_BYTES;
    if (windowBytes % (2 * MAP_ALIGNMENT) !== 0 || windowBytes <= 0 || windowBytes > DEFAULT_WINDOW_BYTES) {
      const expected = `a multiple of ${2 * MAP_ALIGNMENT} up to ${DEFAULT_WINDOW_BYTES}`;
      fail('INVALID_ARGUMENT', { name: 'windowBytes', found: `${windowBytes}`, expected });
    }
    const mapper = await loadMemoryMapper().catch((cause: unknown) => {
      const reason = `memory mapping is not available: ${cause instanceof Error ? cause.message : cause}`;
      return fail('SOURCE_UNAVAILABLE', { source: path, reason }, cause);
    });
    return new MappedSource(await openRegularFile(path), mapper, windowBytes);
  }

  /** Undefined for a range longer than half a window that crosses a window's end, or if the system maps no more. */
  view(offset: number, length: number): Uint8Array | undefined {
    this.checkRange(offset, length);
    if (length === 0) return new Uint8Array(0);
    const index = Math.floor(offset / this.#stride);
    const start = offset - index * this.#stride;
    if (start + length > 2 * this.#stride) return undefined;
    return this.#window(index)?.bytes.subarray(start, start + length);
  }

  async map(offset: number, length: number): Promise<MappedRange | undefined> {
    this.checkRange(offset, length);
    return this.#ranges.map(offset, length);
  }

  /** Samples a few pages of a longer range. */
  protected override isCold(offset: number, length: number): boolean {
    if (length < MIN_DIRECT_BYTES) return false;
    for (let sample = 0; sample < RESIDENCY_SAMPLES; sample++) {
      const at = offset + Math.floor(((sample + 0.5) * length) / RESIDENCY_SAMPLES);
      const index = Math.floor(at / this.#stride);
      if (this.#window(index)?.isResident(at - index * this.#stride) ?? true) return false;
    }
    return true;
  }

  protected override async release(): Promise<void> {
    for (const window of this.#windows.values()) window.unmap();
    this.#windows.clear();
    await super.release();
  }

  #window(index: number): Mapping | undefined {
    const known = this.#windows.get(index);
    if (known) return known;
    const start = index * this.#stride;
    try {
      const window = this.#mapper.map(this.handle.fd, start, Math.min(2 * this.#stride, this.size - start));
      this.#windows.set(index, window);
      return window;
    } catch {
      return undefined;
    }
  }
}

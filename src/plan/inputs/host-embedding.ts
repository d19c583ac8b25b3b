import { asBytes } from '../../base/bytes.ts';
import { fail, invariant } from '../../base/errors.ts';
import type { BlockDecoder, BufferRange, Device, PinnedBuffer, Stream } from '../../device/index.ts';
import { F32, type TensorFormat } from '../../formats/index.ts';
import type { TensorInfo } from '../../gguf/tensor-info.ts';
import type { StepInputs } from './batch-inputs.ts';

/** An embedding table that stays on the host. */
export interface HostTable {
  /** The input of the graphs that has its rows. */
  readonly input: string;
  /** Whether prompts may have vectors instead of its rows; otherwise these have the row of id 0, as in transformers. */
  readonly takesVectors: boolean;
  readonly tensor: TensorInfo;
  readonly rows: number;
  readonly width: number;
  /** The format that the weight policy would use on the device: elements are rounded to it. */
  readonly format: TensorFormat;
}

/** Options of a host embedding. */
export interface HostEmbeddingSetup {
  /** The caller's. */
  readonly decoder: BlockDecoder;
  /** Maximum rows of a step. */
  readonly rows: number;
  /** Steps in flight. */
  readonly slots: number;
}

/** Bytes of the table per read. */
const READ_BYTES = 32 << 20;

/**
 * An embedding of a model in host memory, in the file's format. The decoder's threads decode the rows of a step's tokens
 * into pinned memory, from where they are uploaded, while the previous step runs.
 */
export class HostEmbedding implements AsyncDisposable {
  readonly #table: HostTable;
  readonly #decoder: BlockDecoder;
  readonly #slots: readonly PinnedBuffer[];
  /** Rows of a step in the file's format, and as rounded by the policy. */
  readonly #picked: Uint8Array;
  readonly #rounded: Uint8Array;
  readonly #ending = new AbortController();
  #loading: Promise<Uint8Array> | undefined;

  /** Pins a buffer for each step in flight. Throws `OUT_OF_MEMORY`. */
  constructor(device: Device, table: HostTable, { decoder, rows, slots }: HostEmbeddingSetup) {
    this.#table = table;
    this.#decoder = decoder;
    this.#picked = new Uint8Array(rows * rowBytes(table.tensor.format, table.width));
    this.#rounded = new Uint8Array(rounds(table) ? rows * rowBytes(table.format, table.width) : 0);
    const pinned: PinnedBuffer[] = [];
    this.#slots = pinned;
    try {
      while (pinned.length < slots) pinned.push(device.createPinned(4 * rows * table.width, 'embedded rows'));
    } catch (error) {
      for (const buffer of pinned) buffer[Symbol.dispose]();
      throw error;
    }
  }

  /** Pinned bytes of a buffer for `rows` rows. */
  static slotBytes({ width }: HostTable, rows: number): number {
    return 4 * rows * width;
  }

  /** Resolves when the table is in memory; a failed load is tried again. Rejects with errors of reading. */
  async load(): Promise<void> {
    await this.#bytes();
  }

  /** Decodes the rows of a slot's tokens, whose ids the host knows. Rejects as `load`. */
  async fill(input: StepInputs): Promise<void> {
    const table = await this.#bytes();
    const count = input.view('counts')[0] as number;
    const { tensor, width, rows } = this.#table;
    const bytes = rowBytes(tensor.format, width);
    const ids = input.view('ids');
    for (let row = 0; row < count; row++) {
      const hasVector = input.vectors.has(row);
      if (hasVector && this.#table.takesVectors) continue;
      const id = hasVector ? 0 : (ids[row] as number);
      invariant(id >= 0 && id < rows, 'the host knows the ids of a step');
      this.#picked.set(table.subarray(id * bytes, (id + 1) * bytes), row * bytes);
    }
    const each = Math.ceil(count / this.#decoder.threads);
    const work: Promise<void>[] = [];
    for (let first = 0; first < count; first += each) {
      work.push(this.#decode(input.index, first, Math.min(count, first + each)));
    }
    await Promise.all(work);
    if (!this.#table.takesVectors) return;
    for (const [row, vector] of input.vectors) {
      this.#slotAt(input.index).bytes.set(asBytes(vector), 4 * row * width);
    }
  }

  /** The input of the graphs that has its rows. */
  get input(): string {
    return this.#table.input;
  }

  /** Queues the upload of a slot's rows. */
  upload(stream: Stream, input: StepInputs, target: BufferRange): void {
    const byteLength = 4 * (input.view('counts')[0] as number) * this.#table.width;
    stream.upload(this.#slotAt(input.index).bytes.subarray(0, byteLength), target);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#loading?.catch(() => {});
    for (const slot of this.#slots) slot[Symbol.dispose]();
  }

  async #decode(slot: number, first: number, end: number): Promise<void> {
    const { tensor, format, width } = this.#table;
    const part = (of: Uint8Array, bytes: number) => of.subarray(first * bytes, end * bytes);
    const source = part(this.#picked, rowBytes(tensor.format, width));
    const into = part(this.#slotAt(slot).bytes, 4 * width);
    if (!rounds(this.#table)) {
      await this.#decoder.decode({ format: tensor.format, source, become: F32, into });
      return;
    }
    const rounded = part(this.#rounded, rowBytes(format, width));
    await this.#decoder.decode({ format: tensor.format, source, become: format, into: rounded });
    await this.#decoder.decode({ format, source: rounded, become: F32, into });
  }

  #slotAt(index: number): PinnedBuffer {
    const slot = this.#slots[index];
    invariant(slot, `a place for the rows of slot ${index}`);
    return slot;
  }

  #bytes(): Promise<Uint8Array> {
    this.#loading ??= this.#read().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #read(): Promise<Uint8Array> {
    const { source, offset, byteLength } = this.#table.tensor;
    const bytes = allocate(byteLength);
    for (let at = 0; at < byteLength; at += READ_BYTES) {
      const piece = bytes.subarray(at, Math.min(byteLength, at + READ_BYTES));
      await source.read(offset + at, piece, this.#ending.signal);
    }
    return bytes;
  }
}

function allocate(bytes: number): Uint8Array {
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    return fail('OUT_OF_MEMORY', { device: 'the host', what: 'the embedding', bytes, free: 0 }, cause);
  }
}

/** True if the policy's format is less precise than the file's. */
function rounds({ tensor, format }: HostTable): boolean {
  return format.name !== tensor.format.name && format.name !== 'F32';
}

function rowBytes({ blockElements, blockBytes }: TensorFormat, width: number): number {
  return (width / blockElements) * blockBytes;
}

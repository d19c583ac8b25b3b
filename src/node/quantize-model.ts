import { invariant, RocmforgeError, throwIfAborted } from '../base/errors.ts';
import { CallClient } from '../calls/index.ts';
import type { GgufFile, GgufPlan } from '../gguf/index.ts';
import { GgufWriter } from '../gguf/index.ts';
import type { ByteSink } from '../io/index.ts';
import type { RowsToEncode } from '../quantize/encode-rows.ts';
import type { QuantizePlan, TensorChange } from '../quantize/quantize-plan.ts';
import { packageFile } from './package-file.ts';
import { nodeWorkerHost } from './worker-host.ts';
import { writeWhole } from './write-whole.ts';

const WORKER = '../bin/quantize-worker.js';

/** The calls into a thread. Formats are named by their ids in files. */
export interface QuantizeCalls {
  readonly encode: {
    asks: RowsToEncode & { readonly from: number; readonly to: number };
    value: never;
    answer: Uint8Array;
  };
}

/** How a file is written. */
export interface QuantizeRun {
  readonly path: string;
  readonly threads: number;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of tensors of the source that are done. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Elements that a thread quantizes at a time: some tenths of a second of work, and a few megabytes. */
const SLAB_ELEMENTS = 1 << 18;

/** Rows in memory, for each thread: one being worked on, one read meanwhile. */
const SLABS_PER_THREAD = 2;

/**
 * Writes what a plan makes of `gguf`, and returns the length in bytes. Rows are read, quantized on threads, and written a
 * few megabytes at a time, whatever the size of the model. No half file is left. Rejects with `WRITE_FAILED`, `ABORTED`,
 * `WEIGHTS_NOT_FINITE`, or an error of reading.
 */
export async function writeQuantized(gguf: GgufFile, plan: QuantizePlan, run: QuantizeRun): Promise<number> {
  const write = async (sink: ByteSink) => {
    const writer = await GgufWriter.begin(sink, plan.plan satisfies GgufPlan);
    const total = gguf.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    await using encoders = new Encoders(run.threads);
    const waiting: { readonly bytes: number; readonly rows: Promise<Uint8Array> }[] = [];
    let done = 0;
    const writeFirst = async () => {
      const first = waiting.shift();
      invariant(first, 'rows are under way');
      await writer.write(await first.rows);
      done += first.bytes;
      run.onProgress?.(done, total);
    };
    try {
      for (const slab of slabsOf(plan.changes)) {
        throwIfAborted(run.signal, 'quantizing');
        if (waiting.length >= SLABS_PER_THREAD * run.threads) await writeFirst();
        const rows = encoders.encode(slab, run.signal);
        // A failure is reported when its turn to be written comes.
        rows.catch(() => {});
        waiting.push({ bytes: slab.byteLength, rows });
      }
      while (waiting.length > 0) await writeFirst();
    } finally {
      await Promise.allSettled(waiting.map(({ rows }) => rows));
    }
    writer.end();
    return writer.layout.byteLength;
  };
  return writeWhole(run.path, write, run.signal);
}

/** Whole rows of one matrix. */
interface Slab {
  readonly change: TensorChange;
  /** Position in the tensor, in bytes and in elements. */
  readonly at: number;
  readonly byteLength: number;
  readonly firstElement: number;
  readonly columns: number;
  readonly importance: Float32Array | undefined;
}

function* slabsOf(changes: readonly TensorChange[]): Generator<Slab> {
  for (const change of changes) {
    const { shape, format, elementCount } = change.tensor;
    if (elementCount === 0) continue;
    const [columns = 1, rows = 1] = shape;
    const rowBytes = (columns / format.blockElements) * format.blockBytes;
    const most = Math.max(1, Math.floor(SLAB_ELEMENTS / columns));
    // An expert's rows have an importance of their own.
    for (let matrix = 0; matrix < elementCount / (columns * rows); matrix++) {
      const expert = change.importance ? matrix % (change.importance.length / columns) : 0;
      const importance = change.importance?.slice(expert * columns, (expert + 1) * columns);
      for (let row = 0; row < rows; row += most) {
        const first = matrix * rows + row;
        const byteLength = Math.min(most, rows - row) * rowBytes;
        const firstElement = first * columns;
        yield { change, at: first * rowBytes, byteLength, firstElement, columns, importance };
      }
    }
  }
}

/** Threads that quantize rows. */
class Encoders implements AsyncDisposable {
  readonly #clients: CallClient<QuantizeCalls>[] = [];
  readonly #threads: number;
  /** How many rows each thread has been given and not answered. */
  readonly #busy: number[] = [];

  constructor(threads: number) {
    this.#threads = threads;
  }

  /** The rows in their new format; those that keep theirs are only read. */
  async encode(slab: Slab, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { tensor, format } = slab.change;
    const { name, source, offset } = tensor;
    // Shared, so that a thread gets them without a copy.
    const bytes = new Uint8Array(new SharedArrayBuffer(slab.byteLength));
    await source.read(offset + slab.at, bytes, signal);
    if (format === tensor.format) return bytes;
    const index = this.#idlest();
    this.#busy[index] = (this.#busy[index] ?? 0) + 1;
    const { columns, firstElement, importance } = slab;
    const formats = { from: tensor.format.ggmlType, to: format.ggmlType };
    const asks = { tensor: name, bytes, columns, firstElement, importance, ...formats };
    try {
      return await this.#client(index).call('encode', asks, signal);
    } finally {
      this.#busy[index] = (this.#busy[index] ?? 0) - 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const error = new RocmforgeError('DISPOSED', { what: 'the thread' });
    await Promise.all(this.#clients.map((client) => client.end(error)));
  }

  #idlest(): number {
    let idlest = 0;
    for (let i = 1; i < this.#threads; i++) {
      if ((this.#busy[i] ?? 0) < (this.#busy[idlest] ?? 0)) idlest = i;
    }
    return idlest;
  }

  #client(index: number): CallClient<QuantizeCalls> {
    const host = nodeWorkerHost(packageFile(WORKER, import.meta.url), this.#threads);
    return (this.#clients[index] ??= new CallClient<QuantizeCalls>(host.start(`quantize ${index}`)));
  }
}

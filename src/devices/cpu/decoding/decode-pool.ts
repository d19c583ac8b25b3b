import { Lifetime } from '../../../base/disposal.ts';
import { fail, RocmforgeError } from '../../../base/errors.ts';
import { AsyncPool } from '../../../base/async-pool.ts';
import type {
  BlockDecoder,
  DecodeWork,
  SharedBlock,
  WorkerHandle,
  WorkerHost,
} from '../../../device/index.ts';
import { chooseKernels, type KernelBytes } from '../kernel-choice.ts';
import { MAX_WORKERS } from '../protocol/control.ts';
import { reservedBytes } from '../protocol/reserved.ts';
import type { DecodeAnswer, DecodeRequest } from './messages.ts';
import { SharedMemories } from './shared-memories.ts';

/** Options of a decoder. */
export interface CpuDecoderOptions {
  /** Starts the workers; each must run `runDecodeWorker`. */
  readonly host: WorkerHost;
  readonly kernels: KernelBytes;
  /** Number of worker threads. Default: the host's physical cores. */
  readonly threads?: number | undefined;
}

/**
 * Opens the CPU device's SIMD decoders on worker threads. Threads start with their first work; one that dies is
 * replaced when work arrives again. Throws `INVALID_ARGUMENT`, and `DEVICE_UNAVAILABLE` if WebAssembly lacks the
 * required features.
 */
export async function openCpuDecoder(options: CpuDecoderOptions): Promise<BlockDecoder> {
  const threads = options.threads ?? options.host.threads;
  if (!Number.isInteger(threads) || threads < 1 || threads > MAX_WORKERS) {
    fail('INVALID_ARGUMENT', { name: 'threads', found: `${threads}`, expected: `1 to ${MAX_WORKERS}` });
  }
  const { module, heapBase } = await chooseKernels({ kernels: options.kernels });
  const memories = new SharedMemories(reservedBytes(heapBase, threads));
  return new DecodePool(options.host, { module, memories, threads });
}

class DecodePool implements BlockDecoder {
  readonly threads: number;
  readonly #seats: readonly Seat[];
  readonly #free: AsyncPool<Seat>;
  readonly #memories: SharedMemories;
  readonly #life = new Lifetime('the decoder');

  constructor(
    host: WorkerHost,
    of: { module: WebAssembly.Module; memories: SharedMemories; threads: number },
  ) {
    this.threads = of.threads;
    this.#memories = of.memories;
    this.#seats = Array.from({ length: of.threads }, (_, index) => new Seat(host, of, index));
    this.#free = new AsyncPool(this.#seats);
  }

  share(byteLength: number): SharedBlock {
    const block = this.#memories.create(byteLength);
    return {
      bytes: block.bytes,
      [Symbol.dispose]: () => {
        this.#memories.forget(block);
        for (const seat of this.#seats) seat.forget(block.id);
      },
    };
  }

  async decode(work: DecodeWork): Promise<void> {
    this.#life.check();
    const seat = await this.#free.take();
    try {
      this.#life.check();
      await seat.decode(work);
    } finally {
      this.#free.give(seat);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#life.end()) return;
    await Promise.all(this.#seats.map((seat) => seat.end()));
  }
}

/** One worker, and the memory through which data that it cannot see is copied. */
class Seat {
  readonly #host: WorkerHost;
  readonly #kernels: WebAssembly.Module;
  readonly #memories: SharedMemories;
  readonly #index: number;
  /** Ids of the memories that the worker knows. */
  readonly #known = new Set<number>();
  #worker: WorkerHandle | undefined;
  #settle: ((error: Error | undefined) => void) | undefined;
  #source: Uint8Array = new Uint8Array(0);
  #into: Uint8Array = new Uint8Array(0);

  constructor(host: WorkerHost, of: { module: WebAssembly.Module; memories: SharedMemories }, index: number) {
    this.#host = host;
    this.#kernels = of.module;
    this.#memories = of.memories;
    this.#index = index;
  }

  async decode(work: DecodeWork): Promise<void> {
    const { format, source, become, into } = work;
    const inPlace = this.#inPlace(work);
    if (inPlace) {
      await this.#ask(inPlace);
      return;
    }
    const from = isShared(source) ? source : this.#sharedSource(source);
    const to = isShared(into) ? into : this.#sharedInto(into.byteLength);
    const toF16 = become.name === 'F16';
    await this.#ask({ kind: 'decode', ggmlType: format.ggmlType, source: from, into: to, toF16 });
    if (to !== into) into.set(to);
  }

  /** Releases a memory. */
  forget(id: number): void {
    if (this.#known.delete(id)) this.#worker?.post({ kind: 'forget', id } satisfies DecodeRequest);
  }

  /** Terminates the worker; pending work rejects. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#settle?.(new RocmforgeError('DISPOSED', { what: 'the decoder' }));
    await worker?.terminate();
  }

  async #ask(request: DecodeRequest): Promise<void> {
    const worker = this.#worker ?? this.#start();
    this.#worker = worker;
    worker.hold(true);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#settle = (error) => (error ? reject(error) : resolve());
        worker.post(request);
      });
    } finally {
      this.#settle = undefined;
      worker.hold(false);
    }
  }

  /** The request, if source and target are in the same memory that the kernels see. */
  #inPlace({ format, source, become, into }: DecodeWork): DecodeRequest | undefined {
    const memory = this.#memories.of(source);
    if (!memory || memory !== this.#memories.of(into) || into.byteOffset % 4 !== 0) return undefined;
    this.#worker ??= this.#start();
    if (!this.#known.has(memory.id)) {
      this.#known.add(memory.id);
      this.#worker.post({ kind: 'share', id: memory.id, memory: memory.memory } satisfies DecodeRequest);
    }
    return {
      kind: 'decode in place',
      ggmlType: format.ggmlType,
      id: memory.id,
      source: source.byteOffset,
      blocks: source.byteLength / format.blockBytes,
      into: into.byteOffset,
      toF16: become.name === 'F16',
    };
  }

  #start(): WorkerHandle {
    this.#known.clear();
    const worker = this.#host.start(`rocmforge decoder ${this.#index}`);
    worker.onMessage((message) => {
      const { failure } = message as DecodeAnswer;
      this.#settle?.(failure === undefined ? undefined : lost(failure));
    });
    worker.onFailure((cause) => {
      this.#worker = undefined;
      this.#settle?.(lost(cause.message, cause));
    });
    const start: DecodeRequest = { kind: 'start', kernels: this.#kernels, worker: this.#index };
    worker.post(start);
    return worker;
  }

  #sharedSource(bytes: Uint8Array): Uint8Array {
    if (this.#source.byteLength < bytes.byteLength) this.#source = sharedBytes(bytes.byteLength);
    const copy = this.#source.subarray(0, bytes.byteLength);
    copy.set(bytes);
    return copy;
  }

  #sharedInto(byteLength: number): Uint8Array {
    if (this.#into.byteLength < byteLength) this.#into = sharedBytes(byteLength);
    return this.#into.subarray(0, byteLength);
  }
}

function isShared({ buffer }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer;
}

function sharedBytes(byteLength: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(byteLength));
}

function lost(why: string, cause?: Error): RocmforgeError {
  return new RocmforgeError('DEVICE_LOST', { device: 'cpu decoder', why }, cause ? { cause } : undefined);
}

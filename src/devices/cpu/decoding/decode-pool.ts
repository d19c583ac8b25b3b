import { Lifetime } from '../../../base/disposal.ts';
import { fail, RocmforgeError } from '../../../base/errors.ts';
import { WaitingLine } from '../../../base/waiting-line.ts';
import type { BlockDecoder, DecodeWork, WorkerHandle, WorkerHost } from '../../../device/index.ts';
import { chooseKernels, type KernelBytes } from '../kernel-choice.ts';
import { MAX_WORKERS } from '../protocol/control.ts';
import type { DecodeAnswer, DecodeRequest } from './messages.ts';

/** What a decoder is made of. */
export interface CpuDecoderOptions {
  /** Starts the workers; each must run `runDecodeWorker`. */
  readonly host: WorkerHost;
  readonly kernels: KernelBytes;
  /** Worker threads; the host's physical cores unless given. */
  readonly threads?: number | undefined;
}

/**
 * Opens the CPU device's SIMD decoders on worker threads. Threads start at their first work; one that dies is replaced at
 * the next. Throws `INVALID_ARGUMENT`, and `DEVICE_UNAVAILABLE` where WebAssembly lacks what they need.
 */
export async function openCpuDecoder(options: CpuDecoderOptions): Promise<BlockDecoder> {
  const threads = options.threads ?? options.host.threads;
  if (!Number.isInteger(threads) || threads < 1 || threads > MAX_WORKERS) {
    fail('INVALID_ARGUMENT', { name: 'threads', found: `${threads}`, expected: `1 to ${MAX_WORKERS}` });
  }
  const { module } = await chooseKernels(options.kernels, true);
  return new DecodePool(options.host, module, threads);
}

class DecodePool implements BlockDecoder {
  readonly threads: number;
  readonly #seats: readonly Seat[];
  readonly #free: WaitingLine<Seat>;
  readonly #life = new Lifetime('the decoder');

  constructor(host: WorkerHost, kernels: WebAssembly.Module, threads: number) {
    this.threads = threads;
    this.#seats = Array.from({ length: threads }, (_, index) => new Seat(host, kernels, index));
    this.#free = new WaitingLine(this.#seats);
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

/** One worker, and the memory through which what it cannot see is copied. */
class Seat {
  readonly #host: WorkerHost;
  readonly #kernels: WebAssembly.Module;
  readonly #name: string;
  #worker: WorkerHandle | undefined;
  #settle: ((error: Error | undefined) => void) | undefined;
  #source: Uint8Array = new Uint8Array(0);
  #into: Uint8Array = new Uint8Array(0);

  constructor(host: WorkerHost, kernels: WebAssembly.Module, index: number) {
    this.#host = host;
    this.#kernels = kernels;
    this.#name = `rocmforge decoder ${index}`;
  }

  async decode({ format, source, become, into }: DecodeWork): Promise<void> {
    const from = isShared(source) ? source : this.#sharedSource(source);
    const to = isShared(into) ? into : this.#sharedInto(into.byteLength);
    const halves = become.name === 'F16';
    await this.#ask({ kind: 'decode', ggmlType: format.ggmlType, source: from, into: to, halves });
    if (to !== into) into.set(to);
  }

  /** Ends the worker; work under way rejects. */
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

  #start(): WorkerHandle {
    const worker = this.#host.start(this.#name);
    worker.onMessage((message) => {
      const { failure } = message as DecodeAnswer;
      this.#settle?.(failure === undefined ? undefined : lost(failure));
    });
    worker.onFailure((cause) => {
      this.#worker = undefined;
      this.#settle?.(lost(cause.message, cause));
    });
    worker.post({ kind: 'start', kernels: this.#kernels } satisfies DecodeRequest);
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

import { Worker } from 'node:worker_threads';
import type { WorkerHandle, WorkerHost } from '../device/index.ts';
import { endsLoading, loadingThread } from './native-loading.ts';

/**
 * Megabytes of a worker's young generation. What steps and streams allocate dies at once, and a few megabytes collect it
 * as cheaply as the 48 that V8 would let it grow to, in every worker; with the least that V8 takes, collecting costs more.
 */
const YOUNG_GENERATION_MB = 6;

/** A worker thread that runs one of this package's worker entry points. */
class NodeWorker implements WorkerHandle {
  readonly #worker: Worker;
  readonly #onFailure: ((error: Error) => void)[] = [];
  #failure: Error | undefined;
  #ending = false;
  #isOver = false;
  readonly #loading = loadingThread();

  constructor(entry: URL, name: string) {
    this.#worker = new Worker(entry, {
      name,
      workerData: this.#loading,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    this.#worker.unref();
    this.#worker.once('error', (error) => this.#fail(error));
    this.#worker.once('messageerror', (error) => this.#fail(error));
    this.#worker.once('exit', (code) => {
      this.#isOver = true;
      this.#fail(new Error(`worker ${name} ended with code ${code}`));
    });
  }

  post(message: unknown): void {
    this.#worker.postMessage(message);
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#worker.on('message', listener);
  }

  onFailure(listener: (error: Error) => void): void {
    const failure = this.#failure;
    if (failure) queueMicrotask(() => listener(failure));
    else this.#onFailure.push(listener);
  }

  hold(held: boolean): void {
    if (held) this.#worker.ref();
    else this.#worker.unref();
  }

  async terminate(): Promise<void> {
    this.#ending = true;
    await endsLoading(this.#loading, () => this.#isOver);
    await this.#worker.terminate();
  }

  #fail(error: Error): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#failure = error;
    for (const listener of this.#onFailure) listener(error);
  }
}

/** Starts workers as threads of this process that run the module `entry`. */
export function nodeWorkerHost(entry: URL, threads: number): WorkerHost {
  return { threads, start: (name) => new NodeWorker(entry, name) };
}

import type { WorkerHandle, WorkerHost, WorkerPort } from '../device/index.ts';

/** A dedicated worker of the page or of another worker. */
export class BrowserWorker implements WorkerHandle {
  readonly #worker: Worker;
  readonly #onFailure: ((error: Error) => void)[] = [];
  #failure: Error | undefined;
  #ended = false;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      this.#fail(new Error(event.message || 'its script could not be loaded'));
    });
    worker.addEventListener('messageerror', () => this.#fail(new Error('a message could not be read')));
  }

  post(message: unknown): void {
    this.#worker.postMessage(message);
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<unknown>) => listener(data));
  }

  onFailure(listener: (error: Error) => void): void {
    const failure = this.#failure;
    if (failure) queueMicrotask(() => listener(failure));
    else this.#onFailure.push(listener);
  }

  /** A page's lifetime does not depend on its workers. */
  hold(): void {}

  async terminate(): Promise<void> {
    this.#ended = true;
    this.#worker.terminate();
  }

  #fail(error: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = error;
    for (const listener of this.#onFailure) listener(error);
  }
}

/** Starts as many workers as a device requests. */
export function browserWorkerHost(threads: number, start: (name: string) => Worker): WorkerHost {
  return { threads, start: (name) => new BrowserWorker(start(name)) };
}

/** The members of a worker's global scope that are used; TypeScript's own types for it conflict with those of pages. */
interface WorkerScope {
  postMessage(message: unknown): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
}

/** The channel to the thread that started this worker. */
export function ownWorkerPort(): WorkerPort {
  const scope = globalThis as unknown as WorkerScope;
  return {
    post: (message) => scope.postMessage(message),
    onMessage: (listener) => scope.addEventListener('message', ({ data }) => listener(data)),
  };
}

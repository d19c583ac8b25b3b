import type { WorkerHandle, WorkerHost, WorkerPort } from '../device/index.ts';

type Listener = (message: unknown) => void;

/**
 * A worker on the thread that starts it, for pages whose workers cannot share memory. Its messages are delivered in turns of the event loop
 * of their own, so that calls to the engine, such as to end an answer, are heard between two commands.
 */
class OwnThreadWorker implements WorkerHandle {
  readonly #turns = new MessageChannel();
  readonly #coming: (() => void)[] = [];
  readonly #toHost: Listener[] = [];
  readonly #toWorker: Listener[] = [];
  #ended = false;

  constructor(run: (port: WorkerPort) => void) {
    this.#turns.port1.onmessage = () => this.#coming.shift()?.();
    run({
      post: (message) => this.#deliver(this.#toHost, message),
      onMessage: (listener) => void this.#toWorker.push(listener),
    });
  }

  post(message: unknown): void {
    this.#deliver(this.#toWorker, message);
  }

  onMessage(listener: Listener): void {
    this.#toHost.push(listener);
  }

  /** It lives as long as the thread; what fails in it, it posts. */
  onFailure(): void {}

  hold(): void {}

  async terminate(): Promise<void> {
    this.#ended = true;
    this.#coming.length = 0;
    this.#turns.port1.close();
  }

  #deliver(to: readonly Listener[], message: unknown): void {
    if (this.#ended) return;
    this.#coming.push(() => {
      for (const listener of to) listener(message);
    });
    this.#turns.port2.postMessage(undefined);
  }
}

/** A host whose only worker is the calling thread: `run` makes it one, and must not block while it waits for commands. */
export function ownThreadHost(run: (port: WorkerPort) => void): WorkerHost {
  return { threads: 1, start: () => new OwnThreadWorker(run) };
}

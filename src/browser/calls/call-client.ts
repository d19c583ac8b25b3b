import { RocmforgeError } from '../../base/errors.ts';
import type { WorkerHandle } from '../../device/index.ts';
import type { AnswerMessage, CallMessage } from './messages.ts';
import { unpackError } from '../../base/sent-error.ts';

/** Is told how a call goes: any number of values, then one of the others, once. */
export interface CallListener {
  value(value: unknown): void;
  done(value: unknown): void;
  failed(error: Error): void;
}

/** A call under way. */
export interface CallHandle {
  /** Lets one more value come. */
  more(): void;
  /** Ends it because nobody reads on. Nothing is told any more. */
  leave(): void;
}

/** Calls into a worker that runs `serveCalls`, any number at once. It owns the worker. */
export class CallClient {
  readonly #worker: WorkerHandle;
  readonly #listeners = new Map<number, CallListener>();
  #nextId = 0;
  #lost: Error | undefined;

  constructor(worker: WorkerHandle) {
    this.#worker = worker;
    worker.onMessage((message) => this.#take(message as AnswerMessage));
    worker.onFailure((cause) =>
      this.#fail(new RocmforgeError('WORKER_LOST', { why: cause.message }, { cause })),
    );
  }

  /** Begins a call; when the signal fires, it is up to the worker to let it fail. */
  begin(call: unknown, listener: CallListener, signal?: AbortSignal): CallHandle {
    const id = this.#nextId++;
    const abort = () => this.#post({ kind: 'abort', id });
    const ended = () => {
      this.#listeners.delete(id);
      signal?.removeEventListener('abort', abort);
    };
    if (this.#lost) {
      listener.failed(this.#lost);
      return { more: () => {}, leave: () => {} };
    }
    // What cannot cross throws here, and nobody waits for an answer to it.
    this.#post({ kind: 'call', id, call });
    this.#listeners.set(id, {
      value: (value) => listener.value(value),
      done: (value) => (ended(), listener.done(value)),
      failed: (error) => (ended(), listener.failed(error)),
    });
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    return {
      more: () => this.#post({ kind: 'more', id }),
      leave: () => {
        if (this.#listeners.has(id)) this.#post({ kind: 'leave', id });
        ended();
      },
    };
  }

  /** A call with one answer. */
  async call(call: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.begin(call, { value: () => {}, done: resolve, failed: reject }, signal);
    });
  }

  /** Ends the worker; what is under way fails with the error. */
  async end(error: Error): Promise<void> {
    this.#fail(error);
    await this.#worker.terminate();
  }

  #post(message: CallMessage): void {
    this.#worker.post(message);
  }

  #take(message: AnswerMessage): void {
    const listener = this.#listeners.get(message.id);
    switch (message.kind) {
      case 'value':
        return listener?.value(message.value);
      case 'done':
        return listener?.done(message.value);
      case 'failed':
        return listener?.failed(unpackError(message.error));
    }
  }

  #fail(error: Error): void {
    this.#lost ??= error;
    for (const listener of [...this.#listeners.values()]) listener.failed(this.#lost);
  }
}

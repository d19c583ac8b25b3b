import { isRocmforgeError, RocmforgeError } from '../base/errors.ts';
import { unpackError } from '../base/sent-error.ts';
import type { WorkerHandle } from '../device/index.ts';
import { type AnswerMessage, type CallMessage, type CallTable, WINDOW } from './messages.ts';

/** Number of values read before more are requested. */
const ASKED_AT_ONCE = WINDOW / 2;

/** Receives the progress of a call: any number of values, then one of the others, once. */
export interface CallListener<V = unknown, A = unknown> {
  value(value: V): void;
  done(answer: A): void;
  failed(error: Error): void;
}

/** Options of a call. */
export interface CallOptions {
  /** When it fires, the worker decides how the call fails; if it has already fired, the call fails immediately. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the call keeps the process alive. Default true. */
  readonly holds?: boolean;
}

/** A call in progress. */
export interface CallHandle {
  /** Allows one more value. */
  more(): void;
  /** Says that no more values are wanted, only the answer. */
  finish(): void;
  /** Ends the call because nobody is interested any more. Nothing is reported after that. */
  leave(): void;
}

/** A call that the client tracks. */
interface Listening {
  readonly listener: CallListener;
  readonly holds: boolean;
  readonly signal: AbortSignal | undefined;
  readonly ended: () => void;
}

const NO_CALL: CallHandle = { more: () => {}, finish: () => {}, leave: () => {} };

/** Calls into a worker that runs `serveCalls`, any number at once. It owns the worker. */
export class CallClient<T extends CallTable<T>> {
  readonly #worker: WorkerHandle;
  readonly #listening = new Map<number, Listening>();
  /** Settles with the reason if the worker dies unexpectedly. */
  readonly lost: Promise<RocmforgeError>;
  #nextId = 0;
  #holding = 0;
  #gone: Error | undefined;

  constructor(worker: WorkerHandle) {
    this.#worker = worker;
    worker.onMessage((message) => this.#take(message as AnswerMessage));
    this.lost = new Promise((resolve) => {
      worker.onFailure((cause) => {
        const error = new RocmforgeError('WORKER_LOST', { why: cause.message }, { cause });
        this.#fail(error);
        resolve(error);
      });
    });
  }

  /** Starts a call. Throws if its arguments cannot be cloned. */
  begin<N extends keyof T & string>(
    name: N,
    asks: T[N]['asks'],
    listener: CallListener<T[N]['value'], T[N]['answer']>,
    { signal, holds = true }: CallOptions = {},
  ): CallHandle {
    if (this.#gone) {
      listener.failed(this.#gone);
      return NO_CALL;
    }
    if (signal?.aborted) {
      listener.failed(abortedBy(signal, 'the call'));
      return NO_CALL;
    }
    const id = this.#nextId++;
    // If the arguments cannot be cloned, this throws, and nobody waits for an answer.
    this.#post({ kind: 'call', id, name, asks });
    const abort = () => this.#post({ kind: 'abort', id });
    const ended = () => signal?.removeEventListener('abort', abort);
    this.#listening.set(id, { listener: listener as CallListener, holds, signal, ended });
    if (holds && ++this.#holding === 1) this.#worker.hold(true);
    signal?.addEventListener('abort', abort, { once: true });
    return this.#handle(id);
  }

  /** A call with one answer. */
  async call<N extends keyof T & string>(
    name: N,
    asks: T[N]['asks'],
    signal?: AbortSignal,
  ): Promise<T[N]['answer']> {
    return new Promise((resolve, reject) => {
      this.begin(name, asks, { value: () => {}, done: resolve, failed: reject }, { signal });
    });
  }

  /** Ends the worker; running calls fail with the error. */
  async end(error: Error): Promise<void> {
    this.#fail(error);
    await this.#worker.terminate();
  }

  /** Like `end`, once the worker has released its resources. Rejects as `release`. */
  async endAfter(release: Promise<unknown>, error: Error): Promise<void> {
    try {
      await release;
    } catch (cause) {
      if (!isRocmforgeError(cause, 'WORKER_LOST')) throw cause;
    } finally {
      await this.end(error);
    }
  }

  #handle(id: number): CallHandle {
    let read = 0;
    return {
      more: () => {
        if (++read < ASKED_AT_ONCE || !this.#listening.has(id)) return;
        this.#post({ kind: 'more', id, count: read });
        read = 0;
      },
      finish: () => {
        if (this.#listening.has(id)) this.#post({ kind: 'finish', id });
      },
      leave: () => {
        if (this.#listening.has(id)) this.#post({ kind: 'leave', id });
        this.#forget(id);
      },
    };
  }

  #post(message: CallMessage): void {
    if (!this.#gone) this.#worker.post(message);
  }

  #take({ values, ends }: AnswerMessage): void {
    for (let at = 0; at < values.length; at += 2) {
      this.#listening.get(values[at] as number)?.listener.value(values[at + 1]);
    }
    for (const end of ends) {
      const { listener, signal } = this.#forget(end.id) ?? {};
      if (end.kind === 'done') listener?.done(end.answer);
      else listener?.failed(withReason(unpackError(end.error), signal));
    }
  }

  /** Stops tracking a call. */
  #forget(id: number): Listening | undefined {
    const found = this.#listening.get(id);
    if (!found) return undefined;
    this.#listening.delete(id);
    found.ended();
    if (found.holds && --this.#holding === 0) this.#worker.hold(false);
    return found;
  }

  #fail(error: Error): void {
    const reason = (this.#gone ??= error);
    for (const id of [...this.#listening.keys()]) this.#forget(id)?.listener.failed(reason);
  }
}

/** The abort error with the caller's reason, which is not sent across. */
function withReason(error: Error, signal: AbortSignal | undefined): Error {
  return signal?.aborted && isRocmforgeError(error, 'ABORTED') ? abortedBy(signal, error.params.what) : error;
}

function abortedBy({ reason }: AbortSignal, what: string): RocmforgeError {
  return new RocmforgeError('ABORTED', { what }, { cause: reason as unknown });
}

import { fail } from '../base/errors.ts';
import { packError } from '../base/sent-error.ts';
import type { WorkerPort } from '../device/index.ts';
import { type CallMessage, type CallTable, WINDOW } from './messages.ts';
import { Outbox } from './outbox.ts';

/** Receives the caller's signals for a running call. */
export interface CallReactions {
  /** The reader took values. */
  more?(): void;
  /** The reader wants no more values. */
  finish?(): void;
}

/** What a running call can use. */
export interface CallContext<V = unknown> {
  /** Fires when the caller's signal does, or when nobody reads any more. */
  readonly signal: AbortSignal;
  /** Sends a value. Resolves when the next may be sent, which provides backpressure. */
  send(value: V): Promise<void>;
  /** Sends a value without waiting; long-running senders should check `isBehind`. */
  tell(value: V): void;
  /** True if the reader already has as many unread values as it should. */
  readonly isBehind: boolean;
  /** True if nobody reads any more. */
  readonly left: boolean;
  /** Sets the callbacks. */
  react(to: CallReactions): void;
}

/** The implementations of each kind of call. */
export type CallAnswers<T extends CallTable<T>> = {
  readonly [N in keyof T]: (
    asks: T[N]['asks'],
    context: CallContext<T[N]['value']>,
  ) => Promise<T[N]['answer']>;
};

/** Serves calls from the other end of a port, any number at once. If an implementation rejects, the call fails. */
export function serveCalls<T extends CallTable<T>>(port: WorkerPort, answers: CallAnswers<T>): void {
  const running = new Map<number, RunningCall>();
  const outbox = new Outbox(port, (id) => running.get(id)?.take({ kind: 'leave', id }));
  const byName = answers as Readonly<
    Record<string, (asks: unknown, context: CallContext) => Promise<unknown>>
  >;
  const answer = async (name: string, asks: unknown, context: CallContext): Promise<unknown> => {
    const known = Object.hasOwn(byName, name) ? byName[name] : undefined;
    const expected = Object.keys(byName).join(', ');
    return known
      ? await known(asks, context)
      : fail('INVALID_ARGUMENT', { name: 'call', found: name, expected });
  };
  port.onMessage((data) => {
    const message = data as CallMessage;
    const { id } = message;
    if (message.kind !== 'call') return running.get(id)?.take(message);
    const call = new RunningCall(id, outbox);
    running.set(id, call);
    answer(message.name, message.asks, call)
      .then((value) => outbox.end({ kind: 'done', id, answer: value }))
      .catch((error: unknown) => outbox.end({ kind: 'failed', id, error: packError(error) }))
      .finally(() => running.delete(id));
  });
}

class RunningCall implements CallContext {
  readonly #id: number;
  readonly #outbox: Outbox;
  readonly #abort = new AbortController();
  #credit = WINDOW;
  #left = false;
  #reactions: CallReactions = {};
  #wake: (() => void) | undefined;

  constructor(id: number, outbox: Outbox) {
    this.#id = id;
    this.#outbox = outbox;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get left(): boolean {
    return this.#left;
  }

  get isBehind(): boolean {
    return this.#credit <= 0;
  }

  async send(value: unknown): Promise<void> {
    this.tell(value);
    if (!this.isBehind || this.#left) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  tell(value: unknown): void {
    this.#credit--;
    this.#outbox.value(this.#id, value);
  }

  react(to: CallReactions): void {
    this.#reactions = to;
  }

  take(message: Exclude<CallMessage, { kind: 'call' }>): void {
    switch (message.kind) {
      case 'more':
        this.#credit += message.count;
        this.#reactions.more?.();
        break;
      case 'finish':
        this.#reactions.finish?.();
        return;
      case 'leave':
        this.#left = true;
        this.#abort.abort();
        break;
      case 'abort':
        this.#abort.abort();
        break;
    }
    this.#wake?.();
    this.#wake = undefined;
  }
}

import type { WorkerPort } from '../../device/index.ts';
import type { AnswerMessage, CallMessage } from './messages.ts';
import { packError } from '../../base/sent-error.ts';

/** Values that may be on their way before their reader took one. */
const WINDOW = 32;

/** What a call may do while it runs. */
export interface CallContext {
  /** Fires when the caller's signal does, or nobody reads on. */
  readonly signal: AbortSignal;
  /** Sends a value. Resolves when the next may be sent: a slow reader is not flooded. */
  send(value: unknown): Promise<void>;
  /** Sends a value that nobody has to take before the next. */
  tell(value: unknown): void;
  /** True when nobody reads on. */
  readonly left: boolean;
}

/** Answers calls from the other end of a port, each by `answer`, any number at once. */
export function serveCalls(
  port: WorkerPort,
  answer: (call: unknown, context: CallContext) => Promise<unknown>,
): void {
  const running = new Map<number, RunningCall>();
  const post = (message: AnswerMessage) => port.post(message);
  port.onMessage((data) => {
    const message = data as CallMessage;
    const { id } = message;
    if (message.kind !== 'call') return running.get(id)?.take(message.kind);
    const call = new RunningCall((value) => post({ kind: 'value', id, value }));
    running.set(id, call);
    answer(message.call, call)
      .then((value) => post({ kind: 'done', id, value }))
      // An answer that cannot cross is a failure, too.
      .catch((error: unknown) => post({ kind: 'failed', id, error: packError(error) }))
      .finally(() => running.delete(id));
  });
}

class RunningCall implements CallContext {
  readonly #post: (value: unknown) => void;
  readonly #abort = new AbortController();
  #credit = WINDOW;
  #left = false;
  #wake: (() => void) | undefined;

  constructor(post: (value: unknown) => void) {
    this.#post = post;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get left(): boolean {
    return this.#left;
  }

  async send(value: unknown): Promise<void> {
    this.#post(value);
    this.#credit--;
    if (this.#credit > 0 || this.#left) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  tell(value: unknown): void {
    this.#post(value);
  }

  take(kind: 'more' | 'leave' | 'abort'): void {
    if (kind === 'more') this.#credit++;
    else this.#abort.abort();
    if (kind === 'leave') this.#left = true;
    this.#wake?.();
    this.#wake = undefined;
  }
}

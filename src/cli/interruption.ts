import { EXIT } from './exit-codes.ts';

/**
 * What Ctrl-C does: the first one aborts `signal`, so that the work ends and everything is disposed; one more ends the
 * process at once. A command with a better use of Ctrl-C takes it over for a while; SIGTERM always means the whole.
 */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #interrupted = () => this.interrupt();
  readonly #terminated = () => this.#endOrLeave();
  #taken: (() => void) | undefined;

  constructor() {
    process.on('SIGINT', this.#interrupted);
    process.on('SIGTERM', this.#terminated);
  }

  /** Given to everything that takes long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** As if Ctrl-C was pressed: for a terminal in raw mode, where it comes as a key. Once all is to end, nobody has it. */
  interrupt(): void {
    if (this.#taken && !this.signal.aborted) this.#taken();
    else this.#endOrLeave();
  }

  /** Aborts the work, whoever has taken Ctrl-C over. */
  end(): void {
    this.#controller.abort(new Error('interrupted'));
  }

  /** Calls `handler` at every Ctrl-C until the returned function is called. */
  take(handler: () => void): () => void {
    this.#taken = handler;
    return () => {
      if (this.#taken === handler) this.#taken = undefined;
    };
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#interrupted);
    process.off('SIGTERM', this.#terminated);
  }

  #endOrLeave(): void {
    if (this.signal.aborted) leaveAtOnce();
    else this.end();
  }
}

function leaveAtOnce(): never {
  // A progress bar may have hidden the cursor.
  if (process.stderr.isTTY) process.stderr.write('\u001b[?25h');
  process.exit(EXIT.interrupted);
}

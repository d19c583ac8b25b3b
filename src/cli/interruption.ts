import { EXIT } from './exit-codes.ts';

/**
 * What Ctrl-C does: the first one aborts `signal`, so that the work ends and everything is disposed; one more ends the
 * process at once. A command with a better use of Ctrl-C takes it over for a while.
 */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #handle = () => this.interrupt();
  #taken: (() => void) | undefined;

  constructor() {
    process.on('SIGINT', this.#handle);
    process.on('SIGTERM', this.#handle);
  }

  /** Given to everything that takes long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** As if Ctrl-C was pressed: for a terminal in raw mode, where it comes as a key. */
  interrupt(): void {
    if (this.#taken) this.#taken();
    else if (this.signal.aborted) leaveAtOnce();
    else this.end();
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
    process.off('SIGINT', this.#handle);
    process.off('SIGTERM', this.#handle);
  }
}

function leaveAtOnce(): never {
  // A progress bar may have hidden the cursor.
  if (process.stderr.isTTY) process.stderr.write('\u001b[?25h');
  process.exit(EXIT.interrupted);
}

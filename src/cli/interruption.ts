import { setMaxListeners } from 'node:events';
import { EXIT, type ExitCode } from './exit-codes.ts';

/**
 * Handles Ctrl-C: the first one aborts `signal`, so that the work ends and everything is disposed; the second ends the
 * process immediately. A command can take over Ctrl-C temporarily; SIGTERM always ends everything, and so does the end of the
 * terminal.
 */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #interrupted = () => this.interrupt();
  readonly #terminated = () => this.#endOrLeave(EXIT.terminated);
  readonly #hungUp = () => this.#endOrLeave(EXIT.hungUp);
  #taken: (() => void) | undefined;
  #ended: ExitCode | undefined;

  constructor() {
    // A command may pass the signal to any number of texts at once: many listeners are no leak.
    setMaxListeners(0, this.signal);
    process.on('SIGINT', this.#interrupted);
    process.on('SIGTERM', this.#terminated);
    // The end of the terminal. Without one it is left to `nohup`, which has it ignored.
    if (hasTerminal()) process.on('SIGHUP', this.#hungUp);
  }

  /** Passed to everything that takes long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code of what has ended the work, once something has. */
  get ended(): ExitCode | undefined {
    return this.#ended;
  }

  /**
   * Simulates Ctrl-C, for a terminal in raw mode, where it arrives as a key. Once everything is ending, no command
   * handles it any more.
   */
  interrupt(): void {
    if (this.#taken && !this.signal.aborted) this.#taken();
    else this.#endOrLeave(EXIT.interrupted);
  }

  /** Aborts the work, even if a command has taken over Ctrl-C. */
  end(code: ExitCode = EXIT.interrupted): void {
    this.#ended ??= code;
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
    process.off('SIGHUP', this.#hungUp);
  }

  #endOrLeave(code: ExitCode): void {
    if (!this.signal.aborted) return this.end(code);
    // While the system holds one of Node's threads, such as in a pipe without a writer, Node cannot end itself: the next signal does.
    this[Symbol.dispose]();
    return leaveAtOnce(code);
  }
}

function hasTerminal(): boolean {
  if (process.stdout.isTTY || process.stderr.isTTY) return true;
  try {
    return process.stdin.isTTY;
  } catch {
    // The process was started without a standard input.
    return false;
  }
}

function leaveAtOnce(code: ExitCode): never {
  // A progress bar may have hidden the cursor.
  if (process.stderr.isTTY) process.stderr.write('\u001b[?25h');
  process.exit(code);
}

import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Output } from './output.ts';

/** An event from the keyboard. */
export type LineEvent =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'interrupt' }
  | { readonly kind: 'end' };

/**
 * Lines from a terminal, with editing and a history, or from a pipe. Early lines are kept until they are requested;
 * meanwhile, a terminal does not echo.
 */
export class LineReader implements Disposable {
  readonly #lines: Interface;
  readonly #events: LineEvent[] = [];
  #wanted: ((event: LineEvent) => void) | undefined;
  #ended = false;

  /** `interrupted` is called for a Ctrl-C while no line is requested. */
  constructor(
    output: Output,
    readonly interrupted: () => void,
  ) {
    const terminal = process.stdin.isTTY === true && output.stdout.isTTY === true;
    const echo = new Echo(output.stdout, () => this.#wanted !== undefined);
    this.#lines = createInterface({ input: process.stdin, ...(terminal ? { output: echo } : {}), terminal });
    this.#lines.on('line', (text) => this.#push({ kind: 'line', text }));
    this.#lines.on('SIGINT', () => this.#interruptedAtTerminal());
    this.#lines.on('close', () => {
      this.#ended = true;
      this.#push({ kind: 'end' });
    });
  }

  /** Requests the next line, showing `prompt` on a terminal. */
  next(prompt: string): Promise<LineEvent> {
    const early = this.#events.shift();
    if (early) return Promise.resolve(early);
    if (this.#ended) return Promise.resolve({ kind: 'end' });
    return new Promise((resolve) => {
      this.#wanted = resolve;
      if (!this.#lines.terminal) return;
      this.#lines.setPrompt(prompt);
      this.#lines.prompt();
    });
  }

  /** A Ctrl-C, from the terminal's keys or as a signal. */
  interrupt(): void {
    if (this.#wanted) this.#push({ kind: 'interrupt' });
    else this.interrupted();
  }

  /** Ends reading; a pending request gets `end`. */
  [Symbol.dispose](): void {
    this.#lines.close();
  }

  /** As in a shell, Ctrl-C first discards a partial line. */
  #interruptedAtTerminal(): void {
    if (!this.#wanted || this.#lines.line === '') {
      this.interrupt();
    } else {
      this.#lines.write(null, { ctrl: true, name: 'e' });
      this.#lines.write(null, { ctrl: true, name: 'u' });
    }
  }

  #push(event: LineEvent): void {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    if (wanted) wanted(event);
    else this.#events.push(event);
  }
}

/** Passes on readline's output only while `open`, so that typing does not garble an answer. */
class Echo extends Writable {
  readonly #target: NodeJS.WriteStream;
  readonly #open: () => boolean;

  constructor(target: NodeJS.WriteStream, open: () => boolean) {
    super({ decodeStrings: false });
    this.#target = target;
    this.#open = open;
  }

  get columns(): number {
    return this.#target.columns;
  }

  override _write(chunk: string, _encoding: BufferEncoding, done: () => void): void {
    if (this.#open()) this.#target.write(chunk);
    done();
  }
}

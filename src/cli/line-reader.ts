import { createInterface, type Interface } from 'node:readline/promises';
import { emitKeypressEvents, type Key } from 'node:readline';
import { Writable } from 'node:stream';
import { type ChatHistory, HISTORY_SIZE } from './chat-history.ts';
import { MessageLines } from './message-lines.ts';
import type { Output } from './output.ts';

/** An event from the keyboard; a message may have several lines. */
export type LineEvent =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'interrupt' }
  | { readonly kind: 'end' };

/** Where messages come from. */
export interface LineReaderOptions {
  readonly output: Output;
  /** Called for a Ctrl-C while no message is requested. */
  readonly interrupted: () => void;
  /** Default: the standard input. */
  readonly input?: NodeJS.ReadStream;
  /** What was typed before, for the arrow keys of a terminal. Default: none. */
  readonly history?: ChatHistory | undefined;
}

/** Terminals mark what is pasted if they are asked to (bracketed paste). */
const PASTE_MARKS = { on: '\u001b[?2004h', off: '\u001b[?2004l' } as const;

/** Shown before the further lines of a message. */
const CONTINUED = '| ';

/**
 * Messages from a terminal, with editing and a history, or from a pipe. Early ones are kept until they are requested;
 * meanwhile, a terminal does not echo. `MessageLines` says which lines are one message; what is pasted is one.
 */
export class LineReader implements Disposable {
  readonly #lines: Interface;
  readonly #output: Output;
  readonly #interrupted: () => void;
  readonly #history: ChatHistory | undefined;
  readonly #message = new MessageLines();
  readonly #events: LineEvent[] = [];
  /** readline's own array of what was typed, the last first; it exists once something was. */
  #typed: string[] | undefined;
  #wanted: ((event: LineEvent) => void) | undefined;
  #prompt = '';
  #ended = false;

  constructor({ output, interrupted, input = process.stdin, history }: LineReaderOptions) {
    this.#output = output;
    this.#interrupted = interrupted;
    const terminal = input.isTTY === true && output.stdout.isTTY === true;
    this.#history = terminal ? history : undefined;
    const echo = new Echo(output.stdout, () => this.#wanted !== undefined);
    this.#lines = createInterface({
      input,
      ...(terminal && { output: echo, history: this.#history?.read() ?? [], historySize: HISTORY_SIZE }),
      terminal,
      removeHistoryDuplicates: true,
    });
    this.#lines.on('history', (typed) => (this.#typed = typed));
    this.#lines.on('line', (text) => this.#take(text));
    this.#lines.on('SIGINT', () => this.#interruptedAtTerminal());
    this.#lines.on('close', () => this.#close());
    if (terminal) {
      emitKeypressEvents(input);
      input.on('keypress', this.#pasting);
      output.stdout.write(PASTE_MARKS.on);
    }
  }

  /** Whether a person types. */
  get isTerminal(): boolean {
    return this.#lines.terminal;
  }

  /** Requests the next message, showing `prompt` on a terminal, with `draft` to be edited. */
  next(prompt: string, draft = ''): Promise<LineEvent> {
    const early = this.#events.shift();
    if (early) return Promise.resolve(early);
    if (this.#ended) return Promise.resolve({ kind: 'end' });
    return new Promise((resolve) => {
      this.#wanted = resolve;
      this.#prompt = prompt;
      this.#show(prompt, draft);
    });
  }

  /** A Ctrl-C, from the terminal's keys or as a signal. */
  interrupt(): void {
    if (this.#wanted) this.#push({ kind: 'interrupt' });
    else this.#interrupted();
  }

  /** Ends reading; a pending request gets `end`. */
  [Symbol.dispose](): void {
    this.#lines.close();
  }

  readonly #pasting = (_text: string | undefined, { name }: Key) => {
    if (name === 'paste-start') this.#message.isPasting = true;
    if (name === 'paste-end') this.#message.isPasting = false;
  };

  #take(line: string): void {
    const message = this.#message.add(line);
    const isWhole = message === line;
    // The history has messages, not their lines.
    if (!isWhole && this.#typed?.[0] === line) this.#typed.shift();
    if (message === undefined) {
      if (this.#wanted) this.#show(CONTINUED, '');
      return;
    }
    if (message.trim() !== '') {
      if (!isWhole) this.#typed?.unshift(message);
      this.#history?.add(message);
    }
    this.#push({ kind: 'line', text: message });
  }

  #close(): void {
    if (this.#ended) return;
    if (this.#lines.terminal) this.#output.stdout.write(PASTE_MARKS.off);
    const message = this.#message.end();
    if (message !== undefined) this.#push({ kind: 'line', text: message });
    this.#ended = true;
    this.#push({ kind: 'end' });
  }

  /** As in a shell, Ctrl-C first discards a partial message. */
  #interruptedAtTerminal(): void {
    const isEmpty = this.#lines.line === '' && this.#message.isEmpty;
    if (!this.#wanted || isEmpty) return this.interrupt();
    this.#message.end();
    this.#output.stdout.write('\n');
    this.#show(this.#prompt, '');
  }

  /** Shows the line to be edited, on a terminal. */
  #show(prompt: string, line: string): void {
    if (!this.#lines.terminal) return;
    // readline has no call for this: a line break that is written to it would end the message.
    Object.assign(this.#lines, { line, cursor: line.length });
    this.#lines.setPrompt(prompt);
    this.#lines.prompt(true);
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

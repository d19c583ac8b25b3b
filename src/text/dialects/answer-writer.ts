import type { AnswerPart, CallOutcome } from './answer-part.ts';

/**
 * Collects the parts of an answer. Whitespace around reasoning and calls is dropped; whitespace that may belong to
 * these is held back.
 */
export class AnswerWriter {
  #parts: AnswerPart[] = [];
  #calls = 0;
  /** The current kind of part, and whether whitespace only separates it from the previous one. */
  #kind: 'text' | 'reasoning' | 'call' | undefined;
  #gap = '';
  #isTrimmed = false;
  #hasArguments = false;
  #isOpen = false;
  readonly #holds: boolean;

  /** `holds` is true if a call may follow text, so that whitespace at its end is uncertain. */
  constructor(holds: boolean) {
    this.#holds = holds;
  }

  /** Number of calls that were begun. */
  get calls(): number {
    return this.#calls;
  }

  /** The parts since the last time. */
  take(): AnswerPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  /** A piece of the answer's text or of its reasoning. */
  write(kind: 'text' | 'reasoning', piece: string): void {
    if (this.#kind !== kind) {
      this.#gap = '';
      this.#isTrimmed = kind === 'reasoning' || this.#kind !== undefined;
      this.#kind = kind;
    }
    let text = this.#gap + piece;
    if (this.#isTrimmed) text = text.trimStart();
    const clear = this.#holds || kind === 'reasoning' ? text.trimEnd().length : text.length;
    this.#gap = text.slice(clear);
    if (clear === 0) return;
    this.#isTrimmed = false;
    this.#parts.push({ kind, text: text.slice(0, clear) });
  }

  /** Marks the beginning or end of reasoning, which may be empty. */
  mark(): void {
    this.#kind = 'call';
    this.#gap = '';
  }

  begin(name: string, id?: string): void {
    this.mark();
    this.#isOpen = true;
    this.#hasArguments = false;
    this.#parts.push({ kind: 'call', call: this.#calls++, name, ...(id !== undefined && { id }) });
  }

  give(text: string): void {
    if (text === '') return;
    this.#hasArguments = true;
    this.#parts.push({ kind: 'arguments', call: this.#calls - 1, text });
  }

  end(outcome: CallOutcome, id?: string): void {
    if (outcome === 'whole' && !this.#hasArguments) this.give('{}');
    this.#isOpen = false;
    this.#parts.push({ kind: 'end', call: this.#calls - 1, outcome, ...(id !== undefined && { id }) });
  }

  fault(part: Extract<AnswerPart, { kind: 'fault' }>): void {
    this.#parts.push(part);
  }

  /** The end of the answer. */
  close(): void {
    if (this.#isOpen) this.end('cut');
    if (this.#kind === 'text' && this.#gap !== '' && !this.#isTrimmed) {
      this.#parts.push({ kind: 'text', text: this.#gap });
    }
    this.#gap = '';
  }
}

import type { ToolDialect } from './tool-dialect.ts';

/** A part of an answer: text, the beginning of a call, or a piece of its arguments' JSON. */
export type AnswerPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly call: number; readonly name: string }
  | { readonly kind: 'arguments'; readonly call: number; readonly text: string };

/**
 * Takes text with calls apart while it is generated. The text is of the form that `toolFormat` asks for; what is cut off in
 * the middle comes out as far as it is clear, and the beginning of a call that came to nothing as text.
 */
export class ToolCallParser {
  readonly #dialect: ToolDialect;
  readonly #begins: ReadonlyMap<string, string>;
  #state: 'text' | 'head' | 'arguments' | 'tail' = 'text';
  /** What was read and is not clear yet: of a trigger, or of a call's beginning or end. */
  #read = '';
  /** Whitespace behind a call, which is no text unless text follows; undefined elsewhere. */
  #gap: string | undefined;
  #calls = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  constructor(dialect: ToolDialect, names: readonly string[]) {
    this.#dialect = dialect;
    this.#begins = new Map(names.map((name) => [dialect.begin(name), name]));
  }

  /** Calls that were begun. */
  get calls(): number {
    return this.#calls;
  }

  *push(piece: string): Generator<AnswerPart, void> {
    for (let rest = piece; rest !== '';) {
      if (this.#state === 'text') rest = yield* this.#readText(rest);
      else if (this.#state === 'head') rest = yield* this.#readHead(rest);
      else if (this.#state === 'arguments') rest = yield* this.#readArguments(rest);
      else rest = this.#readTail(rest);
    }
  }

  /** What was held back until the end. */
  *flush(): Generator<AnswerPart, void> {
    if (this.#state === 'text' || this.#state === 'head') yield* this.#text(this.#read);
    this.#read = '';
  }

  /** Text up to where a call may begin. */
  *#readText(piece: string): Generator<AnswerPart, string> {
    const { trigger } = this.#dialect;
    const text = this.#read + piece;
    const found = text.indexOf(trigger);
    const clear = found >= 0 ? found : text.length - beginningLength(text, trigger);
    yield* this.#text(text.slice(0, clear));
    this.#read = found >= 0 ? '' : text.slice(clear);
    if (found < 0) return '';
    this.#state = 'head';
    return text.slice(found);
  }

  *#readHead(piece: string): Generator<AnswerPart, string> {
    this.#read += piece;
    for (const [begin, name] of this.#begins) {
      if (!this.#read.startsWith(begin)) continue;
      const rest = this.#read.slice(begin.length);
      this.#read = '';
      this.#state = 'arguments';
      this.#gap = undefined;
      yield { kind: 'call', call: this.#calls++, name };
      return rest;
    }
    return '';
  }

  *#readArguments(piece: string): Generator<AnswerPart, string> {
    let end = 0;
    while (end < piece.length && !this.#endsWith(piece[end] as string)) end++;
    const isWhole = end < piece.length;
    const text = piece.slice(0, isWhole ? end + 1 : end);
    yield { kind: 'arguments', call: this.#calls - 1, text };
    if (isWhole) this.#state = 'tail';
    return piece.slice(text.length);
  }

  /** Follows the JSON; true for the bracket that closes it. */
  #endsWith(character: string): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (character === '\\') this.#escaped = true;
      else if (character === '"') this.#inString = false;
      return false;
    }
    if (character === '"') this.#inString = true;
    else if (character === '{' || character === '[') this.#depth++;
    else if (character === '}' || character === ']') return --this.#depth === 0;
    return false;
  }

  #readTail(piece: string): string {
    const missing = this.#dialect.end.length - this.#read.length;
    this.#read += piece.slice(0, missing);
    if (this.#read.length < this.#dialect.end.length) return '';
    this.#read = '';
    this.#state = 'text';
    this.#gap = '';
    return piece.slice(missing);
  }

  *#text(piece: string): Generator<AnswerPart, void> {
    const text = (this.#gap ?? '') + piece;
    if (text === '') return;
    const isGap = this.#gap !== undefined && text.trim() === '';
    this.#gap = isGap ? text : undefined;
    if (!isGap) yield { kind: 'text', text };
  }
}

/** Length of the longest end of `text` that begins `wanted`. */
function beginningLength(text: string, wanted: string): number {
  for (let length = Math.min(wanted.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(wanted.slice(0, length))) return length;
  }
  return 0;
}

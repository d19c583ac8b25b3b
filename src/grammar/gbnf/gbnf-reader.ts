import { fail } from '../../base/errors.ts';

const ESCAPES = new Map([
  ['t', 0x09],
  ['r', 0x0d],
  ['n', 0x0a],
  ...Array.from('\\"[]-', (own) => [own, own.charCodeAt(0)] as const),
]);
const HEX_DIGITS = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
]);

/** Reads GBNF text from its start, and knows the line and column at which it fails. */
export class GbnfReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** The current position, for errors. */
  get place(): number {
    return this.#at;
  }

  /** True if this comes next. */
  sees(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  /** Skips this if it comes next. */
  takes(text: string): boolean {
    if (!this.sees(text)) return false;
    this.#at += text.length;
    return true;
  }

  expect(text: string): void {
    if (!this.takes(text)) this.refuse(`expected ${JSON.stringify(text)}`);
  }

  /** The next match of a sticky pattern, undefined if there is none. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined || found === '') return undefined;
    this.#at += found.length;
    return found;
  }

  /** Skips spaces, tabs and comments, and line ends where they do not end a rule. */
  skipSpace(overLines: boolean): void {
    this.match(overLines ? /(?:[ \t\r\n]|#[^\r\n]*)*/y : /(?:[ \t]|#[^\r\n]*)*/y);
  }

  /** One code point of a literal or a class, possibly as an escape. */
  character(): number {
    const from = this.#at;
    const point = this.#text.codePointAt(from);
    if (point === undefined) return this.refuse('it ends in the middle');
    if (point >= 0xd800 && point <= 0xdfff) return this.refuse('a lone surrogate');
    this.#at += point > 0xffff ? 2 : 1;
    return point === 0x5c ? this.#escape(from) : point;
  }

  /** Throws `GRAMMAR_INVALID` with line and column, of the current position or an earlier one. */
  refuse(problem: string, place = this.#at): never {
    const before = this.#text.slice(0, place).split(/\r\n|\r|\n/);
    const column = Array.from(before.at(-1) ?? '').length + 1;
    return fail('GRAMMAR_INVALID', { reason: `line ${before.length}, column ${column}: ${problem}` });
  }

  #escape(from: number): number {
    const kind = this.#text[this.#at++] ?? '';
    const simple = ESCAPES.get(kind);
    if (simple !== undefined) return simple;
    const length = HEX_DIGITS.get(kind);
    if (length === undefined) return this.refuse(`there is no escape \\${kind}`, from);
    const digits = this.#text.slice(this.#at, this.#at + length);
    if (digits.length < length || /[^0-9a-fA-F]/.test(digits)) {
      return this.refuse(`expected ${length} hexadecimal digits`);
    }
    this.#at += length;
    const point = Number.parseInt(digits, 16);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
      this.refuse('there is no such character', from);
    return point;
  }
}

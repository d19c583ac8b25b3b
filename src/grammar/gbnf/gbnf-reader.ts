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

/** Reads a text of GBNF from its beginning, and knows the line and column at which it fails. */
export class GbnfReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Where it stands, to go back to in an error. */
  get place(): number {
    return this.#at;
  }

  /** True where this stands next. */
  sees(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  /** Steps over this where it stands next. */
  takes(text: string): boolean {
    if (!this.sees(text)) return false;
    this.#at += text.length;
    return true;
  }

  expect(text: string): void {
    if (!this.takes(text)) this.refuse(`expected ${JSON.stringify(text)}`);
  }

  /** The longest text of a sticky pattern that stands next, undefined for none. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined || found === '') return undefined;
    this.#at += found.length;
    return found;
  }

  /** Spaces, tabs and comments, and line ends where they do not end a rule. */
  skipSpace(overLines: boolean): void {
    this.match(overLines ? /(?:[ \t\r\n]|#[^\r\n]*)*/y : /(?:[ \t]|#[^\r\n]*)*/y);
  }

  /** One code point of a literal or a class, maybe as an escape. */
  character(): number {
    const from = this.#at;
    const point = this.#text.codePointAt(from);
    if (point === undefined) return this.refuse('it ends in the middle');
    if (point >= 0xd800 && point <= 0xdfff) return this.refuse('a lone surrogate');
    this.#at += point > 0xffff ? 2 : 1;
    return point === 0x5c ? this.#escape(from) : point;
  }

  /** Throws `GRAMMAR_INVALID` with line and column, of where it stands or of a place before. */
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

import { escaped } from '../json-text.ts';
import type { LiteralForm } from '../call-forms.ts';
import type { Reading, Scanner } from '../scanner.ts';

/** Values nested deeper are malformed. */
const DEEPEST = 64;
const WORDS: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  true: 'true',
  false: 'false',
  null: 'null',
};
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '0': '\0' };

/** Parses a literal of Python or of a JSON variant and emits it as JSON; false when it is cut off or malformed. */
export function* readLiteral(
  scanner: Scanner,
  give: (text: string) => void,
  form: LiteralForm = {},
): Reading<boolean> {
  return yield* new LiteralReader(scanner, give, form).read(0);
}

class LiteralReader {
  readonly #scanner: Scanner;
  readonly #give: (text: string) => void;
  readonly #form: LiteralForm;

  constructor(scanner: Scanner, give: (text: string) => void, form: LiteralForm) {
    this.#scanner = scanner;
    this.#give = give;
    this.#form = form;
  }

  *read(depth: number): Reading<boolean> {
    const scanner = this.#scanner;
    yield* scanner.spaces();
    const { quote } = this.#form;
    if (quote !== undefined && (yield* scanner.take(quote))) return yield* this.#readQuoted(quote);
    const first = yield* scanner.peek();
    if (first === undefined || depth > DEEPEST) return false;
    if (first === '"' || first === "'") return yield* this.#readString(first);
    if (first === '{' || first === '[' || first === '(') {
      scanner.skip();
      return first === '{' ? yield* this.#readObject(depth) : yield* this.#readList(first, depth);
    }
    return yield* this.#readBare();
  }

  *#readQuoted(quote: string): Reading<boolean> {
    this.#give('"');
    const found = yield* this.#scanner.until([quote], (text) => this.#give(escaped(text)));
    if (found !== undefined) this.#give('"');
    return found !== undefined;
  }

  *#readString(quote: string): Reading<boolean> {
    const scanner = this.#scanner;
    scanner.skip();
    this.#give('"');
    for (;;) {
      const found = yield* scanner.until([quote, '\\'], (text) => this.#give(escaped(text)));
      if (found === undefined) return false;
      if (found === quote) break;
      const character = yield* this.#readEscape();
      if (character === undefined) return false;
      this.#give(escaped(character));
    }
    this.#give('"');
    return true;
  }

  *#readEscape(): Reading<string | undefined> {
    const letter = yield* this.#scanner.peek();
    if (letter === undefined) return undefined;
    this.#scanner.skip();
    const digits = letter === 'u' ? 4 : letter === 'x' ? 2 : 0;
    if (digits === 0) return ESCAPES[letter] ?? ('\\\'"/`'.includes(letter) ? letter : `\\${letter}`);
    let code = '';
    while (code.length < digits) {
      const digit = yield* this.#scanner.peek();
      if (digit === undefined || !/[\dA-Fa-f]/.test(digit)) return undefined;
      code += digit;
      this.#scanner.skip();
    }
    return String.fromCharCode(Number.parseInt(code, 16));
  }

  *#readObject(depth: number): Reading<boolean> {
    const scanner = this.#scanner;
    this.#give('{');
    for (let count = 0; ; count++) {
      if ((yield* scanner.takeSpaced(['}'])) !== undefined) break;
      if (count > 0) {
        if ((yield* scanner.takeSpaced([','])) === undefined) return false;
        this.#give(', ');
      }
      if (!(yield* this.#readKey())) return false;
      if ((yield* scanner.takeSpaced([':'])) === undefined) return false;
      this.#give(': ');
      if (!(yield* this.read(depth + 1))) return false;
    }
    this.#give('}');
    return true;
  }

  *#readKey(): Reading<boolean> {
    const scanner = this.#scanner;
    yield* scanner.spaces();
    const { quote } = this.#form;
    if (quote !== undefined && (yield* scanner.take(quote))) return yield* this.#readQuoted(quote);
    const first = yield* scanner.peek();
    if (first === '"' || first === "'") return yield* this.#readString(first);
    const key = (yield* this.#readUntil(':,{}[]')).trim();
    if (key === '') return false;
    this.#give(JSON.stringify(key));
    return true;
  }

  *#readList(open: '[' | '(', depth: number): Reading<boolean> {
    const scanner = this.#scanner;
    const close = open === '[' ? ']' : ')';
    this.#give('[');
    for (let count = 0; ; count++) {
      if ((yield* scanner.takeSpaced([close])) !== undefined) break;
      if (count > 0) {
        if ((yield* scanner.takeSpaced([','])) === undefined) return false;
        if ((yield* scanner.takeSpaced([close])) !== undefined) break;
        this.#give(', ');
      }
      if (!(yield* this.read(depth + 1))) return false;
    }
    this.#give(']');
    return true;
  }

  /** A number or a literal name; other bare text is a string. */
  *#readBare(): Reading<boolean> {
    const text = (yield* this.#readUntil(',]})')).trim();
    if (text === '' || this.#scanner.isAtEnd) return false;
    const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
    this.#give(isNumber ? text : (WORDS[text] ?? JSON.stringify(text)));
    return true;
  }

  /** The text before the first of these characters, which is not consumed. */
  *#readUntil(ends: string): Reading<string> {
    let text = '';
    const found = yield* this.#scanner.until([...ends], (piece) => {
      text += piece;
    });
    if (found !== undefined) this.#scanner.goTo(this.#scanner.place - found.length);
    return text;
  }
}

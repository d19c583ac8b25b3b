import { syntaxError } from './jinja-error.ts';
import { type Token, tokenize } from './lexer.ts';

/** Maximum nesting in a template: the parser is recursive. */
const DEEPEST = 150;

/** The tokens of a template, in sequence. */
export class TokenStream {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#tokens = tokenize(source);
  }

  get current(): Token {
    return this.#tokens[this.#at] as Token;
  }

  get following(): Token {
    return this.#tokens[Math.min(this.#at + 1, this.#tokens.length - 1)] as Token;
  }

  /** Returns the current token, and advances. */
  next(): Token {
    const { current } = this;
    if (current.kind !== 'end') this.#at++;
    return current;
  }

  isOperator(text: string): boolean {
    return this.current.kind === 'operator' && this.current.text === text;
  }

  isName(name: string): boolean {
    return this.current.kind === 'name' && this.current.text === name;
  }

  skipOperator(text: string): boolean {
    const found = this.isOperator(text);
    if (found) this.#at++;
    return found;
  }

  skipName(name: string): boolean {
    const found = this.isName(name);
    if (found) this.#at++;
    return found;
  }

  expectOperator(text: string): Token {
    if (!this.isOperator(text)) this.#unexpected(text);
    return this.next();
  }

  /** A name, or the one given. */
  expectName(name?: string): Token {
    const { kind, text } = this.current;
    if (kind !== 'name' || (name !== undefined && text !== name)) this.#unexpected(name ?? 'name');
    return this.next();
  }

  expectClose(): Token {
    if (this.current.kind !== 'close') this.#unexpected('end of the tag');
    return this.next();
  }

  /** Parses something that may be nested in itself. */
  nested<T>(parse: () => T): T {
    if (++this.#depth > DEEPEST) this.fail(`nested more than ${DEEPEST} levels deep`);
    const parsed = parse();
    this.#depth--;
    return parsed;
  }

  fail(message: string, line = this.current.line): never {
    syntaxError(message, line);
  }

  #unexpected(expected: string): never {
    if (this.current.kind === 'end') this.fail(`unexpected end of template, expected '${expected}'.`);
    this.fail(`expected token '${expected}', got '${describe(this.current)}'`);
  }
}

/** A token as described in error messages. */
export function describe({ kind, text }: Token): string {
  if (kind === 'close') return text === '{{' ? 'end of print statement' : 'end of statement block';
  if (kind === 'data') return 'template data / text';
  if (kind === 'end') return 'end of template';
  return kind === 'open' ? text : kind === 'string' ? 'string' : text;
}

import { syntaxError } from './jinja-error.ts';
import { IDENTIFIER, isSpace, trimEnd } from './python-characters.ts';
import { unescapeLiteral } from './string-literal.ts';

/** The kind of a token; each operator or delimiter is its own kind. */
export type TokenKind =
  'data' | 'name' | 'string' | 'integer' | 'float' | 'operator' | 'open' | 'close' | 'end';

/**
 * A token of a template. `text` is the data, the name, the literal's value or the operator; for `open` and `close` it
 * is the delimiter: `{{` or `{%`.
 */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

const NEWLINE = /\r\n|\r|\n/g;
const RAW = /\{%([-+]?)\s*raw\s*(-%\}\s*|%\})/y;
const END_RAW = /\{%([-+]?)\s*endraw\s*(?:\+%\}|-%\}\s*|%\}\n?)/g;
const COMMENT_END = /\+#\}|-#\}\s*|#\}\n?/g;
const FLOAT = /(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/y;
const INTEGER = /0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*/y;
const STRING = /'[^'\\]*(?:\\[^][^'\\]*)*'|"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const OPERATOR = /\/\/|\*\*|==|!=|>=|<=|[+\-/*%~[\](){}><=.:|,;]/y;
const CLOSERS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * The tokens of a source, as produced by Jinja2's lexer with `trim_blocks` and `lstrip_blocks`. Throws `JinjaError`.
 */
export function tokenize(source: string): Token[] {
  return new Lexer(source.replace(NEWLINE, '\n').replace(/\n$/, '')).run();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  #line = 1;
  #counted = 0;
  #lineStarting = true;

  constructor(source: string) {
    this.#source = source;
  }

  run(): Token[] {
    while (this.#at < this.#source.length) this.#root();
    this.#push('end', '', this.#source.length);
    return this.#tokens;
  }

  /** Text up to the next tag, and the tag. */
  #root(): void {
    const start = this.#at;
    const tag = this.#nextTag(start);
    if (tag < 0) {
      this.#push('data', this.#source.slice(start), start);
      this.#at = this.#source.length;
      return;
    }
    const kind = this.#source.slice(tag, tag + 2);
    RAW.lastIndex = tag;
    const raw = kind === '{%' ? RAW.exec(this.#source) : null;
    const sign = raw ? (raw[1] as string) : this.#signAt(tag + 2);
    const data = this.#stripped(start, tag, sign, kind === '{{');
    if (data !== '') this.#push('data', data, start);
    if (raw) this.#raw(tag + raw[0].length);
    else if (kind === '{#') this.#comment(tag, tag + 2 + sign.length);
    else this.#inside(kind, tag, tag + 2 + sign.length);
    this.#lineStarting = this.#source[this.#at - 1] === '\n';
  }

  #nextTag(from: number): number {
    for (let at = this.#source.indexOf('{', from); at >= 0; at = this.#source.indexOf('{', at + 1)) {
      const next = this.#source[at + 1];
      if (next === '{' || next === '%' || next === '#') return at;
    }
    return -1;
  }

  #signAt(at: number): string {
    const sign = this.#source[at];
    return sign === '-' || sign === '+' ? sign : '';
  }

  /** The text before a tag, without the whitespace that the tag removes. */
  #stripped(start: number, end: number, sign: string, isVariable: boolean): string {
    const text = this.#source.slice(start, end);
    if (sign === '-') return trimEnd(text);
    if (sign === '+' || isVariable) return text;
    const line = text.lastIndexOf('\n') + 1;
    if (line === 0 && !this.#lineStarting) return text;
    return trimEnd(text.slice(line)) === '' ? text.slice(0, line) : text;
  }

  #raw(start: number): void {
    END_RAW.lastIndex = start;
    const end = END_RAW.exec(this.#source);
    if (!end) this.#fail('Missing end of raw directive', start);
    this.#lineStarting = this.#source[start - 1] === '\n';
    const data = this.#stripped(start, end.index, end[1] as string, false);
    if (data !== '') this.#push('data', data, start);
    this.#at = END_RAW.lastIndex;
  }

  #comment(tag: number, start: number): void {
    COMMENT_END.lastIndex = start;
    if (!COMMENT_END.exec(this.#source)) this.#fail('Missing end of comment tag', tag);
    this.#at = COMMENT_END.lastIndex;
  }

  /** The tokens of a statement or an expression, and its end. */
  #inside(kind: string, tag: number, start: number): void {
    this.#push('open', kind, tag);
    const end = kind === '{{' ? '}}' : '%}';
    const brackets: string[] = [];
    for (this.#at = start; ;) {
      while (isSpace(this.#source[this.#at])) this.#at++;
      if (this.#at >= this.#source.length) return;
      if (brackets.length === 0 && this.#closes(kind, end)) return;
      this.#token(brackets);
    }
  }

  #closes(kind: string, end: string): boolean {
    const sign = this.#signAt(this.#at);
    // A plus before the end of an expression is an operator.
    const skipped = sign === '-' || (sign === '+' && kind === '{%') ? 1 : 0;
    if (!this.#source.startsWith(end, this.#at + skipped)) return false;
    this.#push('close', kind, this.#at);
    this.#at += skipped + end.length;
    if (sign === '-') while (isSpace(this.#source[this.#at])) this.#at++;
    else if (skipped === 0 && kind === '{%' && this.#source[this.#at] === '\n') this.#at++;
    return true;
  }

  #token(brackets: string[]): void {
    const at = this.#at;
    const before = this.#source[at - 1];
    const float = before === '.' ? undefined : this.#match(FLOAT);
    if (float !== undefined) return this.#push('float', float.replaceAll('_', ''), at);
    const integer = this.#match(INTEGER);
    if (integer !== undefined) return this.#push('integer', integer.replaceAll('_', ''), at);
    const name = this.#match(IDENTIFIER);
    if (name !== undefined) return this.#push('name', name, at);
    const literal = this.#match(STRING);
    if (literal !== undefined)
      return this.#push('string', unescapeLiteral(literal.slice(1, -1), this.#lineAt(at)), at);
    const operator = this.#match(OPERATOR);
    if (operator === undefined) this.#fail(`unexpected char '${this.#source[at]}' at ${at}`, at);
    this.#balance(operator, brackets, at);
    this.#push('operator', operator, at);
  }

  #balance(operator: string, brackets: string[], at: number): void {
    const closer = CLOSERS[operator];
    if (closer !== undefined) brackets.push(closer);
    if (operator !== ')' && operator !== ']' && operator !== '}') return;
    const expected = brackets.pop();
    if (expected === undefined) this.#fail(`unexpected '${operator}'`, at);
    if (expected !== operator) this.#fail(`unexpected '${operator}', expected '${expected}'`, at);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #push(kind: TokenKind, text: string, at: number): void {
    this.#tokens.push({ kind, text, line: this.#lineAt(at) });
  }

  /** Offsets must be requested in ascending order. */
  #lineAt(offset: number): number {
    for (; this.#counted < offset; this.#counted++) if (this.#source[this.#counted] === '\n') this.#line++;
    return this.#line;
  }

  #fail(message: string, at: number): never {
    syntaxError(message, this.#lineAt(at));
  }
}

import type { AnswerToken } from './lexer.ts';
import { CodeColours } from './highlight.ts';
import { CHUNK_LINES, codeChunks, languageOf } from './nodes.ts';

/** The line that opens a block of code at the beginning of a line; others are read as a whole. */
const OPENING = /^(`{3,}|~{3,})[^\n]*\n/;

/**
 * A block of code whose end has not come. Lines are read and coloured once, so that the time for a token does not grow with the
 * block, and text is appended in place, so that what is selected stays selected.
 */
export class GrowingCode {
  /** Whether the end has come. */
  isClosed = false;
  readonly #code: Element;
  readonly #closing: RegExp;
  readonly #colours: CodeColours;
  /** Lines that have ended, from the first chunk that may change on. */
  #lines: string[] = [];
  /** The elements of those chunks. */
  #chunks: HTMLElement[];

  private constructor(code: Element, fence: string, language: string) {
    this.#code = code;
    this.#closing = new RegExp(`^ {0,3}${fence}${fence.slice(-1)}* *$`);
    this.#colours = new CodeColours(language);
    this.#chunks = [...code.children] as HTMLElement[];
  }

  /**
   * A block that goes on, from its token and the element that shows it, and the characters that it began with; undefined for
   * what is no code, or has its end.
   */
  static of(token: AnswerToken, shown: Node | undefined): { block: GrowingCode; begin: number } | undefined {
    const [opening = '', fence] = token.type === 'code' ? (OPENING.exec(token.raw) ?? []) : [];
    const code = shown instanceof Element ? shown.querySelector('pre code') : null;
    if (fence === undefined || code === null) return undefined;
    const block = new GrowingCode(code, fence, languageOf((token as { lang?: string }).lang));
    const last = token.raw.slice(token.raw.lastIndexOf('\n') + 1);
    return block.#closing.test(last) ? undefined : { block, begin: opening.length };
  }

  /** Takes the text from the first line on that had not ended, and returns how many characters will not change. */
  grow(text: string, whole: boolean): number {
    let at = 0;
    for (let end = text.indexOf('\n'); end >= 0 && !this.isClosed; end = text.indexOf('\n', at)) {
      const line = text.slice(at, end);
      if (this.#closing.test(line)) this.isClosed = true;
      else this.#lines.push(line);
      at = end + 1;
    }
    const rest = this.isClosed ? '' : text.slice(at);
    const isShown = rest !== '' && !this.#closing.test(rest);
    this.#draw(codeChunks(textOf(isShown ? [...this.#lines, rest] : this.#lines)));
    // The break behind a chunk's last line is there with the next line.
    for (; this.#lines.length > CHUNK_LINES; this.#lines.splice(0, CHUNK_LINES)) {
      const chunk = this.#chunks.shift();
      if (chunk) this.#colours.colour(chunk);
    }
    if (whole || this.isClosed) {
      const colours = this.#colours.fork();
      for (const chunk of this.#chunks) colours.colour(chunk);
    }
    return at;
  }

  #draw(texts: readonly string[]): void {
    for (const [at, text] of texts.entries()) {
      const chunk = (this.#chunks[at] ??= this.#code.appendChild(document.createElement('span')));
      const { firstChild: node, textContent: before } = chunk;
      if (node instanceof Text && node.data === before && text.startsWith(before)) {
        if (text.length > before.length) node.appendData(text.slice(before.length));
      } else if (text !== before) chunk.textContent = text;
    }
    for (const chunk of this.#chunks.splice(texts.length)) chunk.remove();
  }
}

/** The text of lines, as the lexer has it: an empty last line has its break. */
function textOf(lines: readonly string[]): string {
  return lines.join('\n') + (lines.at(-1) === '' ? '\n' : '');
}

import type { Style } from './output.ts';

/** Styles a text for the terminal. */
export type StyleText = (style: Style, text: string) => string;

/** Text that is held back for the end of an emphasis, a link or a code span; with more, its mark is taken literally. */
const MOST_HELD = 400;

/** The beginning of a line that more text could make a mark. */
const UNDECIDED = /^ *(?:#{1,6}|[-*+]|\d{1,9}[.)]?|>|`{1,2}|~{1,2}|[-*_ ]{2,})?$/;

const FENCE = /^ *(`{3,}(?=[^`]*$)|~{3,})/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const RULE_WIDTH = 40;

/**
 * Renders an answer's Markdown while it arrives: headings, lists, quotes, rules, code, emphasis and links; the rest, tables too,
 * stands as it was written. What could still become a mark is held back until the text decides; a mark without its end is text.
 */
export class TerminalMarkdown {
  readonly #style: StyleText;
  #held = '';
  #isLineStart = true;
  /** The fence that ends the code; undefined in text. */
  #fence: string | undefined;
  /** The style of the line: that of a heading, a quote or code. */
  #line: Style | undefined;
  /** The last character of the line that was shown: marks within words are none. */
  #before = '';

  constructor(style: StyleText) {
    this.#style = style;
  }

  /** Takes a piece; returns what can be shown of all so far. */
  push(text: string): string {
    this.#held += text;
    let shown = '';
    for (;;) {
      const end = this.#held.indexOf('\n');
      if (end < 0) return shown + this.#partOf(this.#held, false);
      const line = this.#held.slice(0, end);
      const further = this.#held.slice(end + 1);
      shown += `${this.#partOf(line, true)}\n`;
      this.#held = further;
      this.#isLineStart = true;
      this.#line = undefined;
      this.#before = '';
    }
  }

  /** The rest, at the end of the answer. */
  end(): string {
    const shown = this.#partOf(this.#held, true);
    this.#held = '';
    return shown;
  }

  /** What can be shown of a line, all of it if it is whole; the rest of what is held stays. */
  #partOf(line: string, isWhole: boolean): string {
    let text = line;
    let shown = '';
    if (this.#isLineStart) {
      if (!isWhole && (UNDECIDED.test(line) || FENCE.test(line))) return '';
      const [head, rest] = this.#begin(line, isWhole);
      shown = head;
      text = rest;
      this.#isLineStart = false;
    }
    const [done, left] = this.#fence === undefined ? this.#inline(text, isWhole) : [this.#plain(text), ''];
    this.#held = left;
    return shown + done;
  }

  /** Reads the mark at the beginning of a line: what to show for it, and the rest of the line. */
  #begin(line: string, isWhole: boolean): [head: string, rest: string] {
    const [, fence] = FENCE.exec(line) ?? [];
    if (this.#fence !== undefined) {
      this.#line = 'cyan';
      if (fence?.startsWith(this.#fence) !== true || line.trim() !== fence) return ['', line];
      this.#fence = undefined;
      return [this.#style('dim', line), ''];
    }
    if (fence !== undefined) {
      this.#fence = fence;
      return [this.#style('dim', line), ''];
    }
    if (isWhole && RULE.test(line)) return [this.#style('dim', '─'.repeat(RULE_WIDTH)), ''];
    const [, heading] = /^ {0,3}(#{1,6} +)/.exec(line) ?? [];
    if (heading !== undefined) {
      this.#line = 'bold';
      return ['', line.trimStart().slice(heading.length)];
    }
    const [quote] = /^ {0,3}> ?/.exec(line) ?? [];
    if (quote !== undefined) {
      this.#line = 'dim';
      return [this.#style('dim', '│ '), line.slice(quote.length)];
    }
    const [bullet, indent] = /^( *)[-*+] /.exec(line) ?? [];
    return bullet === undefined ? ['', line] : [`${indent}• `, line.slice(bullet.length)];
  }

  /** Shows text up to a mark whose end is not there yet. */
  #inline(text: string, isWhole: boolean): [shown: string, left: string] {
    let shown = '';
    let rest = text;
    while (rest !== '') {
      const at = rest.search(/[`*_[\\]/);
      if (at < 0) return [shown + this.#plain(rest), ''];
      shown += this.#plain(rest.slice(0, at));
      rest = rest.slice(at);
      const isFinal = isWhole || rest.length > MOST_HELD;
      const mark = markAt(rest, this.#before, isFinal);
      if (mark === undefined) return [shown, rest];
      shown += mark.style === undefined ? this.#plain(mark.text) : this.#styled(mark.style, mark.text);
      if (mark.address !== undefined) shown += this.#style('dim', ` (${mark.address})`);
      this.#before = rest.charAt(mark.length - 1);
      rest = rest.slice(mark.length);
    }
    return [shown, ''];
  }

  #styled(style: Style, text: string): string {
    if (style === 'cyan') return this.#style(style, text);
    // There may be marks within the emphasis.
    const inner = new TerminalMarkdown(this.#style);
    inner.#isLineStart = false;
    inner.#held = text;
    return this.#style(style, inner.end());
  }

  #plain(text: string): string {
    if (text === '') return '';
    this.#before = text.slice(-1);
    return this.#line === undefined ? text : this.#style(this.#line, text);
  }
}

/** A mark with what it encloses; without a style, literal text. */
interface Mark {
  readonly style?: Style;
  readonly text: string;
  /** Of a link. */
  readonly address?: string;
  /** Characters of the source. */
  readonly length: number;
}

const EMPHASIS: readonly Style[] = ['italic', 'bold', ['bold', 'italic']];

/** The mark at the beginning of a text; undefined if the text does not decide yet. A final text always does. */
function markAt(text: string, before: string, isFinal: boolean): Mark | undefined {
  const [first = ''] = text;
  const literal = (length: number): Mark => ({ text: text.slice(0, length), length });
  if (first === '\\') {
    if (text.length < 2) return isFinal ? literal(1) : undefined;
    const isEscape = /[!-/:-@[-`{-~]/.test(text.charAt(1));
    return isEscape ? { text: text.charAt(1), length: 2 } : literal(1);
  }
  if (first === '[') return linkAt(text, isFinal);
  const run = text.length - trimStartOf(text, first).length;
  if (run === text.length) return isFinal ? literal(run) : undefined;
  const isWithinWord = first === '_' && /\w/.test(before);
  const opens = first === '`' || (run <= 3 && !/\s/.test(text.charAt(run)) && !isWithinWord);
  if (!opens) return literal(run);
  const end = endOfMark(text, run, isFinal);
  if (end === undefined) return isFinal ? literal(run) : undefined;
  const style = first === '`' ? 'cyan' : EMPHASIS[run - 1];
  return { ...(style !== undefined && { style }), text: text.slice(run, end), length: end + run };
}

function linkAt(text: string, isFinal: boolean): Mark | undefined {
  const [all, label, address] = /^\[([^\][]+)\]\(([^()\s]+)\)/.exec(text) ?? [];
  if (all !== undefined && label !== undefined && address !== undefined) {
    return { style: 'underline', text: label, address, length: all.length };
  }
  const mayBecome = /^\[[^\][]*(?:\](?:\([^()\s]*)?)?$/.test(text);
  return mayBecome && !isFinal ? undefined : { text: '[', length: 1 };
}

/** Where the same run of characters ends what the first one has begun; undefined if it is not there. */
function endOfMark(text: string, run: number, isFinal: boolean): number | undefined {
  const first = text.charAt(0);
  for (let at = run; at < text.length; at++) {
    if (text.charAt(at) !== first) continue;
    const length = text.length - at - trimStartOf(text.slice(at), first).length;
    // Another character may come to the run at the end.
    if (at + length === text.length && length <= run && !isFinal) return undefined;
    const isClosing = first === '`' || !/\s/.test(text.charAt(at - 1));
    const isWithinWord = first === '_' && /\w/.test(text.charAt(at + length));
    if (length === run && isClosing && !isWithinWord) return at;
    at += length - 1;
  }
  return undefined;
}

function trimStartOf(text: string, character: string): string {
  let at = 0;
  while (text.charAt(at) === character) at++;
  return text.slice(at);
}

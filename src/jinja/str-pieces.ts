import { raise } from './jinja-error.ts';
import { isSpace, LINE_END } from './python-characters.ts';
import { type Str, StrBuilder } from './str.ts';
import type { Context } from './values.ts';

/** The string without whitespace, or any of `chars`, on the given sides. */
export function strip(str: Str, sides: 'both' | 'left' | 'right', chars?: string): Str {
  const { text } = str;
  const set = chars === undefined ? undefined : new Set(chars);
  const goes = (point: string) => (set ? set.has(point) : isSpace(point));
  let start = 0;
  let end = text.length;
  while (sides !== 'right' && start < end) {
    const point = pointFrom(text, start);
    if (!goes(point)) break;
    start += point.length;
  }
  while (sides !== 'left' && start < end) {
    const point = pointBefore(text, end);
    if (!goes(point)) break;
    end -= point.length;
  }
  return str.cut(start, end);
}

function pointFrom(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) as number);
}

function pointBefore(text: string, end: number): string {
  const pair = end > 1 ? text.slice(end - 2, end) : '';
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(pair) ? pair : (text[end - 1] as string);
}

/** Python's `split`; without a separator, at runs of whitespace. A negative `most` means no limit. */
export function split(str: Str, separator: string | undefined, most: number, context: Context): Str[] {
  context.budget.spendText(str.text.length);
  if (separator === '') raise('empty separator');
  return separator === undefined ? splitAtSpace(str, most, context) : splitAt(str, separator, most, context);
}

function splitAt(str: Str, separator: string, most: number, context: Context): Str[] {
  const pieces: Str[] = [];
  let at = 0;
  while (most < 0 || pieces.length < most) {
    const next = str.text.indexOf(separator, at);
    if (next < 0) break;
    context.budget.make();
    pieces.push(str.cut(at, next));
    at = next + separator.length;
  }
  pieces.push(str.cut(at));
  return pieces;
}

function splitAtSpace(str: Str, most: number, { budget }: Context): Str[] {
  const { text } = str;
  const pieces: Str[] = [];
  for (let at = 0; ;) {
    while (at < text.length && isSpace(text[at])) at++;
    if (at >= text.length) return pieces;
    if (most >= 0 && pieces.length >= most) {
      pieces.push(str.cut(at));
      return pieces;
    }
    const start = at;
    while (at < text.length && !isSpace(text[at])) at++;
    budget.make();
    pieces.push(str.cut(start, at));
  }
}

/** Python's `rsplit`: the limit counts from the end. */
export function splitFromEnd(str: Str, separator: string | undefined, most: number, context: Context): Str[] {
  context.budget.spendText(str.text.length);
  if (separator === '') raise('empty separator');
  if (most < 0) return split(str, separator, most, context);
  const pieces =
    separator === undefined ? spacedFromEnd(str, most, context) : partsFromEnd(str, separator, most, context);
  return pieces.reverse();
}

/** The words from last to first, and the rest before them. */
function spacedFromEnd(str: Str, most: number, { budget }: Context): Str[] {
  const pieces: Str[] = [];
  for (let end = str.text.length; ;) {
    while (end > 0 && isSpace(str.text[end - 1])) end--;
    if (end === 0) return pieces;
    let start = pieces.length < most ? end : 0;
    while (start > 0 && !isSpace(str.text[start - 1])) start--;
    budget.make();
    pieces.push(str.cut(start, end));
    end = start;
  }
}

/** The pieces from last to first, and the rest before them. */
function partsFromEnd(str: Str, separator: string, most: number, { budget }: Context): Str[] {
  const pieces: Str[] = [];
  let end = str.text.length;
  while (pieces.length < most) {
    const next = end < separator.length ? -1 : str.text.lastIndexOf(separator, end - separator.length);
    if (next < 0) break;
    budget.make();
    pieces.push(str.cut(next + separator.length, end));
    end = next;
  }
  pieces.push(str.cut(0, end));
  return pieces;
}

/** Python's `splitlines`. */
export function splitLines(str: Str, keepEnds: boolean, context: Context): Str[] {
  const { text } = str;
  context.budget.spendText(text.length);
  const lines: Str[] = [];
  let at = 0;
  for (const found of text.matchAll(LINE_END)) {
    context.budget.make();
    const end = found.index + found[0].length;
    lines.push(str.cut(at, keepEnds ? end : found.index));
    at = end;
  }
  if (at < text.length) lines.push(str.cut(at));
  return lines;
}

/** Python's `replace`; a negative `most` means no limit. */
export function replace(str: Str, old: Str, by: Str, most: number, context: Context): Str {
  const { text } = str;
  const builder = new StrBuilder(context.budget);
  let at = 0;
  for (let count = 0; most < 0 || count < most; count++) {
    const next = old.text === '' ? nextGap(text, at, count) : text.indexOf(old.text, at);
    if (next < 0) break;
    builder.add(str.cut(at, next)).add(by);
    at = next + old.text.length;
  }
  return builder.add(str.cut(at)).done(str.safe);
}

/** The empty string occurs between characters and at both ends. */
function nextGap(text: string, at: number, count: number): number {
  if (count === 0) return 0;
  return at >= text.length ? -1 : at + pointFrom(text, at).length;
}

/** The strings joined by a separator. */
export function join(separator: Str, pieces: Iterable<Str>, context: Context): Str {
  const builder = new StrBuilder(context.budget);
  let first = true;
  for (const piece of pieces) {
    if (!first) builder.add(separator);
    first = false;
    builder.add(piece);
  }
  return builder.done();
}

/** The string padded with a fill character on one or both sides, up to a width in code points. */
export function pad(
  str: Str,
  width: number,
  fill: string,
  sides: 'left' | 'right' | 'both',
  context: Context,
): Str {
  const missing = Math.max(0, width - str.length);
  context.budget.checkLength(missing);
  // As in Python's `center`, an odd character is added on the left if the width is odd.
  const half = (missing >> 1) + (missing & width & 1);
  const before = sides === 'left' ? missing : sides === 'right' ? 0 : half;
  return new StrBuilder(context.budget)
    .addText(fill.repeat(before), false)
    .add(str)
    .addText(fill.repeat(missing - before), false)
    .done(str.safe);
}

import type { Steps } from '../base/turns.ts';
import type { Spans } from '../jinja/index.ts';
import { StringFinder } from './string-finder.ts';
import { TOKEN_TYPES } from './token-type.ts';
import type { Vocabulary } from './vocabulary.ts';

/** A stretch of plain text, or the id of a special token. */
export type Fragment = string | number;

/** Tokens that swallow the whitespace before or after them. */
export interface StripRules {
  readonly left: ReadonlySet<number>;
  readonly right: ReadonlySet<number>;
}

/** Tokens to search for between two pauses. Searching a text for one cannot be interrupted: some 10 ms for 16 MiB. */
const AT_ONCE = 1 << 10;

interface SpecialEntry {
  readonly id: number;
  readonly text: string;
  readonly onlyWhenParsed: boolean;
  readonly isMarkup: boolean;
}

/** Entries with the same text. */
type Spelled = readonly [SpecialEntry, ...SpecialEntry[]];

/** A range of the text, or the id of a special token. */
type Piece = number | { readonly start: number; readonly end: number };

/** A token to be split off, and the only places where it may occur; undefined for anywhere. */
interface Cut {
  readonly entry: SpecialEntry;
  readonly within: Spans | undefined;
}

/**
 * Splits special tokens off text before any other processing. Longer tokens (in UTF-8 bytes) claim their places in the
 * whole text first, as in llama.cpp.
 */
export class SpecialSplitter {
  /** Entries with equal texts are grouped, in order of their ids. */
  readonly #entries: readonly Spelled[];
  /** Finds them by index. Some vocabularies have thousands, but a text contains few of them. */
  readonly #finder: StringFinder;
  readonly #strip: StripRules;

  constructor(vocabulary: Vocabulary, strip: StripRules) {
    this.#strip = strip;
    const entries = new Map<string, [SpecialEntry, ...SpecialEntry[]]>();
    for (let id = 0; id < vocabulary.size; id++) {
      const type = vocabulary.types[id];
      const onlyWhenParsed = type === TOKEN_TYPES.control || type === TOKEN_TYPES.unknown;
      if (!onlyWhenParsed && type !== TOKEN_TYPES.userDefined) continue;
      const text = vocabulary.text(id);
      const entry = { id, text, onlyWhenParsed, isMarkup: vocabulary.isMarkup(id) };
      if (!entries.get(text)?.push(entry)) entries.set(text, [entry]);
    }
    const lengthOf = ([{ id }]: Spelled) => vocabulary.bytes(id).length;
    this.#entries = [...entries.values()].sort((a, b) => lengthOf(b) - lengthOf(a));
    this.#finder = new StringFinder(this.#entries.map(([{ text }]) => text));
  }

  /**
   * `parse`: whether control and unknown tokens are split off as well; or the only places where they and markup are.
   */
  *split(text: string, parse: boolean | Spans): Steps<Fragment[]> {
    let pieces: Piece[] = text === '' ? [] : [{ start: 0, end: text.length }];
    const found = yield* this.#finder.find(text);
    for (const index of [...found].sort((a, b) => a - b)) {
      for (const cut of cutsOf(this.#entries[index] as Spelled, parse)) {
        yield;
        const left: Piece[] = [];
        for (const piece of pieces) {
          if (typeof piece === 'number') left.push(piece);
          else yield* this.#cut(text.slice(piece.start, piece.end), piece.start, cut, left);
        }
        pieces = left;
      }
    }
    return pieces.map((piece) => (typeof piece === 'number' ? piece : text.slice(piece.start, piece.end)));
  }

  /** Splits a token off a range that starts at `offset`. */
  *#cut(stretch: string, offset: number, { entry, within }: Cut, out: Piece[]): Steps {
    const { id, text } = entry;
    let start = 0;
    for (let from = 0, found = 1; ; found++) {
      if (found % AT_ONCE === 0) yield;
      const at = stretch.indexOf(text, from);
      if (at < 0) break;
      if (within && !covers(within, offset + at, offset + at + text.length)) {
        from = at + 1;
        continue;
      }
      const end = this.#strip.left.has(id) ? trimmedEnd(stretch, start, at) : at;
      if (end > start) out.push({ start: offset + start, end: offset + end });
      out.push(id);
      start = at + text.length;
      if (this.#strip.right.has(id)) start = trimmedStart(stretch, start);
      from = start;
    }
    if (start < stretch.length) out.push({ start: offset + start, end: offset + stretch.length });
  }
}

/** Which tokens of the same text are split off; the first one that applies anywhere wins. */
function cutsOf(entries: Spelled, parse: boolean | Spans): Cut[] {
  if (typeof parse === 'boolean') {
    const entry = entries.find(({ onlyWhenParsed }) => parse || !onlyWhenParsed);
    return entry ? [{ entry, within: undefined }] : [];
  }
  const [first] = entries;
  const anywhere = entries.find(({ onlyWhenParsed, isMarkup }) => !onlyWhenParsed && !isMarkup);
  const cuts: Cut[] = first === anywhere ? [] : [{ entry: first, within: parse }];
  if (anywhere) cuts.push({ entry: anywhere, within: undefined });
  return cuts;
}

/** Whether one of the spans contains everything from `start` to `end`. */
function covers(spans: Spans, start: number, end: number): boolean {
  let low = 0;
  let high = spans.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[2 * middle + 1] as number) < end) low = middle + 1;
    else high = middle;
  }
  return 2 * low < spans.length && (spans[2 * low] as number) <= start;
}

/** Where the text from `start` on begins without leading whitespace. */
function trimmedStart(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\n\v\f\r'.includes(text[at] as string)) at++;
  return at;
}

/**
 * Where the text from `start` to `end` ends without trailing whitespace; a loop, since a regular expression would be
 * quadratic.
 */
function trimmedEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && ' \t\n\v\f\r'.includes(text[at - 1] as string)) at--;
  return at;
}

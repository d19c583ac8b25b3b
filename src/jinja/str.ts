import type { Budget } from './budget.ts';

/**
 * The spans of a text that the template itself wrote: start and end of each, in ascending order, none empty or
 * adjacent. In UTF-16 units.
 */
export type Spans = readonly number[];

const NONE: Spans = [];

/** A Python string that knows which of its characters the template wrote; all others are input. Immutable. */
export class Str {
  #offsets: Uint32Array | null | undefined;

  constructor(
    readonly text: string,
    readonly written: Spans,
    /** Whether it is markupsafe's `Markup`, which escapes whatever it is combined with. */
    readonly safe = false,
  ) {}

  /** A text written by the template. */
  static written(text: string): Str {
    return new Str(text, text === '' ? NONE : [0, text.length]);
  }

  /** A text from the input. */
  static outside(text: string): Str {
    return new Str(text, NONE);
  }

  /** Python's `len`: code points. */
  get length(): number {
    const offsets = this.#points();
    return offsets === null ? this.text.length : offsets.length - 1;
  }

  /** The UTF-16 offset of a code point, for indices from 0 to `length`. */
  offsetOf(point: number): number {
    const offsets = this.#points();
    return offsets === null ? point : (offsets[point] as number);
  }

  /** The code point that begins at a UTF-16 offset. */
  pointAt(offset: number): number {
    const offsets = this.#points();
    if (offsets === null) return offset;
    let low = 0;
    let high = offsets.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((offsets[middle] as number) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The substring between two UTF-16 offsets. */
  cut(start: number, end = this.text.length): Str {
    if (start <= 0 && end >= this.text.length) return this;
    if (start >= end) return new Str('', NONE, this.safe);
    return new Str(this.text.slice(start, end), cutSpans(this.written, start, end), this.safe);
  }

  /** One code point. */
  at(point: number): Str {
    return this.cut(this.offsetOf(point), this.offsetOf(point + 1));
  }

  /** The same characters as `Markup`, or as a plain string. */
  marked(safe: boolean): Str {
    return safe === this.safe ? this : new Str(this.text, this.written, safe);
  }

  /** The start of each code point, and the end; null if offsets equal indices. */
  #points(): Uint32Array | null {
    if (this.#offsets !== undefined) return this.#offsets;
    this.#offsets = /[\ud800-\udbff][\udc00-\udfff]/.test(this.text) ? pointOffsets(this.text) : null;
    return this.#offsets;
  }
}

function pointOffsets(text: string): Uint32Array {
  const offsets = new Uint32Array(text.length + 1);
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1) {
    offsets[count++] = at;
  }
  offsets[count] = text.length;
  return offsets.subarray(0, count + 1);
}

function cutSpans(spans: Spans, start: number, end: number): Spans {
  if (spans.length === 0) return NONE;
  const cut: number[] = [];
  for (let i = firstEndingAfter(spans, start); i < spans.length; i += 2) {
    const from = Math.max(spans[i] as number, start);
    const to = Math.min(spans[i + 1] as number, end);
    if (from >= end) break;
    cut.push(from - start, to - start);
  }
  return cut;
}

/** The index of the first span that ends after an offset. */
function firstEndingAfter(spans: Spans, offset: number): number {
  let low = 0;
  let high = spans.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[2 * middle + 1] as number) <= offset) low = middle + 1;
    else high = middle;
  }
  return 2 * low;
}

/** Builds a string, and counts its cost as it grows. */
export class StrBuilder {
  #text = '';
  readonly #spans: number[] = [];
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  get length(): number {
    return this.#text.length;
  }

  add(piece: Str): this {
    const start = this.#text.length;
    this.#grow(piece.text);
    const { written } = piece;
    this.#budget.spend(written.length >> 3);
    for (let i = 0; i < written.length; i += 2) {
      this.#mark(start + (written[i] as number), start + (written[i + 1] as number));
    }
    return this;
  }

  /** Adds characters that the template wrote, or that are input. */
  addText(text: string, written: boolean): this {
    const start = this.#text.length;
    this.#grow(text);
    if (written && text !== '') this.#mark(start, start + text.length);
    return this;
  }

  done(safe = false): Str {
    return new Str(this.#text, this.#spans, safe);
  }

  #grow(text: string): void {
    this.#budget.spendText(text.length);
    this.#budget.checkLength(this.#text.length + text.length);
    this.#text += text;
  }

  #mark(start: number, end: number): void {
    const last = this.#spans.length - 1;
    if (last > 0 && this.#spans[last] === start) this.#spans[last] = end;
    else this.#spans.push(start, end);
  }
}

/** Concatenates strings. */
export function concat(pieces: readonly Str[], budget: Budget): Str {
  if (pieces.length === 1) return (pieces[0] as Str).marked(false);
  const builder = new StrBuilder(budget);
  for (const piece of pieces) builder.add(piece);
  return builder.done();
}

/** Replaces each code point with a text, which has the same origin as the code point. */
export function mapPoints(str: Str, map: (point: string) => string, budget: Budget): Str {
  const builder = new StrBuilder(budget);
  budget.spend(str.text.length);
  addMapped(builder, str, map);
  return builder.done(str.safe);
}

/** Adds a string with each code point replaced by a text, which has the same origin as the code point. */
export function addMapped(out: StrBuilder, { text, written }: Str, map: (point: string) => string): void {
  let at = 0;
  for (let i = 0; i <= written.length; i += 2) {
    const start = written[i] ?? text.length;
    const end = written[i + 1] ?? text.length;
    out.addText(mapText(text.slice(at, start), map), false);
    out.addText(mapText(text.slice(start, end), map), true);
    at = end;
  }
}

function mapText(text: string, map: (point: string) => string): string {
  let mapped = '';
  for (const point of text) mapped += map(point);
  return mapped;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

/** markupsafe's `escape`. */
export function escaped(str: Str, budget: Budget): Str {
  if (str.safe) return str;
  return mapPoints(str, (point) => ENTITIES[point] ?? point, budget).marked(true);
}

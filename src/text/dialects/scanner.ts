/** A parser that yields when it needs more text. */
export type Reading<T> = Generator<void, T, void>;

const SPACE = /\s/;
/** Text that was read is discarded beyond this size. */
const MAX_READ = 1024;

/**
 * Text that arrives in pieces, parsed by generators that yield when they need more. Their results depend on the text
 * alone, never on how it was split. Control tokens can be found, but are never part of emitted text.
 */
export class Scanner {
  #text = '';
  /** The position of `#text`'s start. */
  #base = 0;
  /** The current position in `#text`. */
  #at = 0;
  #ended = false;
  #isCut = false;
  /** The positions of control tokens, in order. */
  #controls: { readonly start: number; readonly end: number }[] = [];

  push(text: string, isControl = false): void {
    if (isControl && text !== '') {
      const start = this.#base + this.#text.length;
      this.#controls.push({ start, end: start + text.length });
    }
    this.#text += text;
  }

  /** Ends the input, because the text was cut off or has ended by itself. */
  end(isCut: boolean): void {
    this.#ended = true;
    this.#isCut = isCut;
  }

  /** True if everything was read and nothing more comes. */
  get isAtEnd(): boolean {
    return this.#ended && this.#at === this.#text.length;
  }

  /** True if a limit has cut the text off. */
  get isCut(): boolean {
    return this.#isCut;
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  /** A position to which the parser can return, until it is forgotten. */
  get place(): number {
    return this.#base + this.#at;
  }

  /** Moves to a position. */
  goTo(place: number): void {
    this.#at = place - this.#base;
  }

  /** Allows discarding text before the current position, to which nobody will return. */
  forget(): void {
    if (this.#at < MAX_READ && this.#at < this.#text.length) return;
    this.#base += this.#at;
    this.#text = this.#text.slice(this.#at);
    this.#at = 0;
    if (this.#controls.length > 0) this.#controls = this.#controls.filter(({ end }) => end > this.#base);
  }

  /** The unread text. */
  get rest(): string {
    return this.#text.slice(this.#at);
  }

  /** The unread text up to the next control token. */
  get plainRest(): string {
    const next = this.#controls.find(({ end }) => end > this.place);
    return this.#text.slice(this.#at, next && Math.max(this.#at, next.start - this.#base));
  }

  /** The text between positions, including control tokens. */
  written(from: number, to: number): string {
    return this.#text.slice(from - this.#base, to - this.#base);
  }

  /** The text between positions, without control tokens. */
  plain(from: number, to: number): string {
    let text = '';
    let at = from;
    for (const { start, end } of this.#controls) {
      if (end <= at) continue;
      if (start >= to) break;
      text += this.written(at, Math.max(at, start));
      at = Math.min(to, end);
    }
    return text + this.written(at, to);
  }

  /**
   * Reads up to and including the first of the markers, emitting what precedes as soon as it is certain; undefined at
   * the end.
   */
  *until(markers: readonly string[], give: (text: string) => void): Reading<string | undefined> {
    for (;;) {
      const rest = this.rest;
      const held = this.#ended ? rest.length : heldFrom(rest, markers);
      const found = firstOf(rest, markers);
      const isClear = found !== undefined && (found.at < held || this.#ended);
      const stop = isClear ? found.at : held;
      if (stop > 0) {
        const text = this.plain(this.place, this.place + stop);
        this.#at += stop;
        if (text !== '') give(text);
      }
      if (isClear) {
        this.#at += found.marker.length;
        return found.marker;
      }
      if (this.#ended) return undefined;
      yield;
    }
  }

  /** Reads this text if it comes next. */
  *take(wanted: string): Reading<boolean> {
    for (;;) {
      if (this.#text.startsWith(wanted, this.#at)) {
        this.#at += wanted.length;
        return true;
      }
      if (this.#ended || !wanted.startsWith(this.rest)) return false;
      yield;
    }
  }

  /** Reads the first of these texts that comes next. */
  *takeAny(wanted: readonly string[]): Reading<string | undefined> {
    for (const text of wanted) if (yield* this.take(text)) return text;
    return undefined;
  }

  /** Reads one of these texts with leading whitespace, or nothing. */
  *takeSpaced(wanted: readonly string[]): Reading<string | undefined> {
    const before = this.#at;
    yield* this.spaces();
    const taken = yield* this.takeAny(wanted);
    if (taken === undefined) this.#at = before;
    return taken;
  }

  /** Reads whitespace. */
  *spaces(): Reading<void> {
    for (;;) {
      while (this.#at < this.#text.length && SPACE.test(this.#text[this.#at] as string)) this.#at++;
      if (this.#at < this.#text.length || this.#ended) return;
      yield;
    }
  }

  /** The next character, without reading it; undefined at the end. */
  *peek(): Reading<string | undefined> {
    for (;;) {
      const character = this.#text[this.#at];
      if (character !== undefined || this.#ended) return character;
      yield;
    }
  }

  /** Skips one character. */
  skip(): void {
    this.#at++;
  }
}

function firstOf(text: string, markers: readonly string[]): { at: number; marker: string } | undefined {
  let first: { at: number; marker: string } | undefined;
  for (const marker of markers) {
    const at = text.indexOf(marker);
    if (at < 0) continue;
    if (!first || at < first.at || (at === first.at && marker.length > first.marker.length)) {
      first = { at, marker };
    }
  }
  return first;
}

/** The position from which the text may become a marker, or a longer one. */
function heldFrom(text: string, markers: readonly string[]): number {
  let held = text.length;
  for (const marker of markers) {
    for (let length = Math.min(marker.length - 1, text.length); text.length - length < held; length--) {
      if (text.endsWith(marker.slice(0, length))) held = text.length - length;
    }
  }
  return held;
}

/** Reads on as text comes: yields where it needs more. */
export type Reading<T> = Generator<void, T, void>;

const SPACE = /\s/;
/** Read text is cut off when there is so much of it. */
const MAX_READ = 1024;

/**
 * Text that arrives in pieces, read by generators that yield where they need more of it. What they find depends on the text
 * alone, never on how it was cut. Control tokens are there to be found, and in nothing that is given out as text.
 */
export class Scanner {
  #text = '';
  /** The place of `#text`'s beginning. */
  #base = 0;
  /** Where the reading is in `#text`. */
  #at = 0;
  #ended = false;
  #isCut = false;
  /** The places of control tokens, in order. */
  #controls: { readonly start: number; readonly end: number }[] = [];

  push(text: string, isControl = false): void {
    if (isControl && text !== '') {
      const start = this.#base + this.#text.length;
      this.#controls.push({ start, end: start + text.length });
    }
    this.#text += text;
  }

  /** Nothing more comes, because the text is cut off or has ended by itself. */
  end(isCut: boolean): void {
    this.#ended = true;
    this.#isCut = isCut;
  }

  /** True when everything was read and nothing more comes. */
  get isAtEnd(): boolean {
    return this.#ended && this.#at === this.#text.length;
  }

  /** True when a limit has cut the text off. */
  get isCut(): boolean {
    return this.#isCut;
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  /** A place to go back to, until it is forgotten. */
  get place(): number {
    return this.#base + this.#at;
  }

  /** Goes back, or over what is there. */
  goTo(place: number): void {
    this.#at = place - this.#base;
  }

  /** What was read may go: nobody goes back to a place before this one. */
  forget(): void {
    if (this.#at < MAX_READ && this.#at < this.#text.length) return;
    this.#base += this.#at;
    this.#text = this.#text.slice(this.#at);
    this.#at = 0;
    if (this.#controls.length > 0) this.#controls = this.#controls.filter(({ end }) => end > this.#base);
  }

  /** What is there and not read. */
  get rest(): string {
    return this.#text.slice(this.#at);
  }

  /** What is there and not read, up to the next control token. */
  get plainRest(): string {
    const next = this.#controls.find(({ end }) => end > this.place);
    return this.#text.slice(this.#at, next && Math.max(this.#at, next.start - this.#base));
  }

  /** The text between places, with control tokens. */
  written(from: number, to: number): string {
    return this.#text.slice(from - this.#base, to - this.#base);
  }

  /** The text between places, without control tokens. */
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

  /** Reads up to the first of the markers and over it, giving out what precedes as early as it is certain; undefined at the end. */
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

  /** Reads this text where it comes next. */
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

  /** Reads one of these texts with whitespace before it, or nothing. */
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

  /** The next character, not read; undefined at the end. */
  *peek(): Reading<string | undefined> {
    for (;;) {
      const character = this.#text[this.#at];
      if (character !== undefined || this.#ended) return character;
      yield;
    }
  }

  /** Reads one character more. */
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

/** From where on the text may become a marker, or a longer one. */
function heldFrom(text: string, markers: readonly string[]): number {
  let held = text.length;
  for (const marker of markers) {
    for (let length = Math.min(marker.length - 1, text.length); text.length - length < held; length--) {
      if (text.endsWith(marker.slice(0, length))) held = text.length - length;
    }
  }
  return held;
}

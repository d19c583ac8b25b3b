import { fail } from '../base/errors.ts';

/** Text that can be emitted now, and the stop string that ended the text. */
export interface StopResult {
  readonly text: string;
  readonly stop?: string;
}

/**
 * Finds stop strings in text that arrives in pieces. Text that could be the beginning of a stop string is held back
 * until that is decided; nothing after a stop string is emitted, nor the stop string itself unless it is to be
 * included. Among stop strings that end at the same position, the one that begins first wins.
 */
export class StopMatcher {
  readonly #stops: readonly string[];
  readonly #isIncluded: boolean;
  #held = '';
  #stopped = false;

  /** With `isIncluded`, the stop string that is found is emitted, too. Throws `INVALID_ARGUMENT` for an empty one. */
  constructor(stops: readonly string[], { isIncluded = false }: { readonly isIncluded?: boolean } = {}) {
    if (stops.includes('')) {
      fail('INVALID_ARGUMENT', { name: 'stop', found: 'an empty text', expected: 'texts that can end one' });
    }
    this.#stops = stops;
    this.#isIncluded = isIncluded;
  }

  /** Adds text; after a stop string was found, nothing is emitted any more. */
  push(piece: string): StopResult {
    if (this.#stopped || piece === '') return { text: '' };
    const text = this.#held + piece;
    const found = this.#findFirst(text);
    if (found !== undefined) {
      this.#stopped = true;
      this.#held = '';
      const end = found.start + (this.#isIncluded ? found.stop.length : 0);
      return { text: text.slice(0, end), stop: found.stop };
    }
    const kept = this.#beginningLength(text);
    this.#held = text.slice(text.length - kept);
    return { text: text.slice(0, text.length - kept) };
  }

  /** The end of the text: returns what was held back. */
  flush(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }

  /** The stop string that is complete first, as if the text had come character by character. */
  #findFirst(text: string): { start: number; stop: string } | undefined {
    let first: { start: number; end: number; stop: string } | undefined;
    for (const stop of this.#stops) {
      const start = text.indexOf(stop);
      if (start < 0) continue;
      const end = start + stop.length;
      if (first === undefined || end < first.end || (end === first.end && start < first.start)) {
        first = { start, end, stop };
      }
    }
    return first;
  }

  /** Length of the longest suffix of `text` that begins a stop string. */
  #beginningLength(text: string): number {
    let longest = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}

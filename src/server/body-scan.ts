import { fail } from '../base/errors.ts';
import type { Steps } from '../base/turns.ts';

/** Maximum nesting of a body: templates and grammars recurse over it. */
const DEEPEST = 256;

/**
 * Maximum values of a body other than numbers: names, strings, objects and lists are each created, validated and
 * traversed.
 */
const MAX_VALUES = 2 ** 16;

/** Maximum numbers: prompts can have hundreds of thousands of token ids. */
const MAX_NUMBERS = 2 ** 18;

/** Bytes scanned between two pauses. */
const STRETCH = 2 ** 15;

const code = (character: string) => character.charCodeAt(0);
const [QUOTE, BACKSLASH, COMMA, COLON, MINUS, ZERO, NINE] = Array.from('"\\,:-09', code) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Array.from('[]{}', code) as [
  number,
  number,
  number,
  number,
];
const SPACE = code(' ');

/**
 * Counts the values of a body while it arrives, before it is parsed: JSON of many small values costs a hundred times
 * more than its size suggests.
 */
export class BodyScan {
  #depth = 0;
  #values = 0;
  #numbers = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether a value or a name is expected next. */
  #isDue = true;

  /** Scans the next bytes. Throws `REQUEST_INVALID` if there is too much. */
  *take(bytes: Uint8Array): Steps {
    for (let from = 0; from < bytes.length; from += STRETCH) {
      yield;
      const end = Math.min(bytes.length, from + STRETCH);
      for (let at = from; at < end; at++) this.#look(bytes[at] as number);
      if (this.#values > MAX_VALUES) refuse(`it has more than ${MAX_VALUES} names and values`);
      if (this.#numbers > MAX_NUMBERS) refuse(`it has more than ${MAX_NUMBERS} numbers`);
    }
  }

  #look(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInString) {
      if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
    } else if (byte > SPACE) this.#lookOutside(byte);
  }

  #lookOutside(byte: number): void {
    if (this.#isDue && byte !== CLOSE_BRACKET && byte !== CLOSE_BRACE) {
      if (byte === MINUS || (byte >= ZERO && byte <= NINE)) this.#numbers++;
      else this.#values++;
    }
    this.#isDue = byte === COMMA || byte === COLON;
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      this.#isDue = true;
      if (++this.#depth > DEEPEST) refuse(`it is nested more than ${DEEPEST} deep`);
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#depth--;
  }
}

function refuse(problem: string): never {
  fail('REQUEST_INVALID', { field: 'body', problem });
}

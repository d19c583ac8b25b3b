import { JinjaError } from './jinja-error.ts';

/**
 * Evaluated nodes, loop iterations, copied items: about a second of work. Templates come with files, which are not
 * trusted.
 */
const STEPS = 8_000_000;
/** Steps added for each character of input. */
const STEPS_PER_CHARACTER = 4;
/** Characters that cost as much as one step. */
const CHARACTERS_PER_STEP = 16;
/** An object takes some 80 bytes. */
const STEPS_PER_OBJECT = 4;
/** Maximum length of a text in UTF-16 units. */
export const MAX_TEXT_LENGTH = 1 << 26;
/**
 * Maximum depth of nested nodes and calls, which bounds the stack. Python's own limit lets a macro call itself some 300
 * times.
 */
const DEEPEST = 1400;

/** Limits the cost of one rendering. Throws `JinjaError` of kind `limit`. */
export class Budget {
  #steps = STEPS;
  #depth = 0;

  /** Adds steps for input, so that long texts can be processed several times. */
  allowFor(length: number): void {
    this.#steps += STEPS_PER_CHARACTER * length;
  }

  /** Counts steps. */
  spend(steps = 1): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new JinjaError('limit', `more than ${STEPS} steps`);
  }

  /** Counts objects that one operation creates from a text or from nothing: their cost is memory rather than time. */
  make(objects = 1): void {
    this.spend(objects * STEPS_PER_OBJECT);
  }

  /** Counts the characters that an operation reads or writes. */
  spendText(length: number): void {
    this.checkLength(length);
    this.spend(1 + Math.ceil(length / CHARACTERS_PER_STEP));
  }

  /** Checks the length of a text before it is created. */
  checkLength(length: number): void {
    if (length > MAX_TEXT_LENGTH)
      throw new JinjaError('limit', `a text of more than ${MAX_TEXT_LENGTH} characters`);
  }

  /** Enters a nested level; each call needs a `leave`. */
  enter(): void {
    this.spend();
    if (++this.#depth > DEEPEST) throw new JinjaError('limit', `nested more than ${DEEPEST} levels deep`);
  }

  leave(): void {
    this.#depth--;
  }
}

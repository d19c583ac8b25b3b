/**
 * How a character relates to a JSON text: within it, its last, after its end (for bare numbers and literals), or
 * invalid.
 */
export type JsonStep = 'inside' | 'last' | 'behind' | 'wrong';

type Wanted = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end';

/** Deeper nesting is refused, because JSON parsers recurse. */
const MAX_DEPTH = 256;
const WORDS = ['true', 'false', 'null'];
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const NUMBER_BEGUN = /^-?((0|[1-9]\d*)(\.\d*)?([eE][+-]?\d*)?)?$/;

/** Follows one JSON value character by character. Leading whitespace is part of it. */
export class JsonMachine {
  #open = '';
  #wanted: Wanted = 'value';
  #string: 'no' | 'key' | 'value' = 'no';
  /** The characters left in an escape after its backslash: its letter, or up to 4 hexadecimal digits. */
  #escape: 'no' | 'letter' | number = 'no';
  /** The number or literal name so far. */
  #bare = '';

  /** True inside a string, where raw control characters may be emitted as escapes. */
  get isInString(): boolean {
    return this.#string !== 'no';
  }

  /** True after a complete bare number or literal name that nothing has terminated yet. */
  get isWholeBare(): boolean {
    return this.#open === '' && isBare(this.#bare);
  }

  step(character: string): JsonStep {
    if (this.#string !== 'no') return this.#inString(character);
    if (this.#bare !== '') {
      if (/[\w.+-]/.test(character)) {
        this.#bare += character;
        return mayBeBare(this.#bare) ? 'inside' : 'wrong';
      }
      if (!isBare(this.#bare)) return 'wrong';
      this.#bare = '';
      if (this.#open === '') return 'behind';
      this.#wanted = 'comma-or-end';
    }
    return /[ \t\n\r]/.test(character) ? 'inside' : this.#between(character);
  }

  #inString(character: string): JsonStep {
    if (this.#escape === 'letter') {
      this.#escape = character === 'u' ? 4 : 'no';
      return '"\\/bfnrtu'.includes(character) ? 'inside' : 'wrong';
    }
    if (this.#escape !== 'no') {
      this.#escape = this.#escape === 1 ? 'no' : this.#escape - 1;
      return /[\dA-Fa-f]/.test(character) ? 'inside' : 'wrong';
    }
    if (character === '\\') this.#escape = 'letter';
    else if (character === '"') {
      const wasKey = this.#string === 'key';
      this.#string = 'no';
      if (!wasKey) return this.#ended();
      this.#wanted = 'colon';
    }
    return 'inside';
  }

  #between(character: string): JsonStep {
    const wanted = this.#wanted;
    if (character === '}' || character === ']') return this.#close(character);
    if (wanted === 'comma-or-end') {
      this.#wanted = this.#open.endsWith('{') ? 'key' : 'value';
      return character === ',' ? 'inside' : 'wrong';
    }
    if (wanted === 'colon') {
      this.#wanted = 'value';
      return character === ':' ? 'inside' : 'wrong';
    }
    if (wanted === 'key' || wanted === 'key-or-end') {
      this.#string = 'key';
      return character === '"' ? 'inside' : 'wrong';
    }
    return this.#begin(character);
  }

  #begin(character: string): JsonStep {
    if (character === '"') this.#string = 'value';
    else if (character === '{' || character === '[') {
      if (this.#open.length === MAX_DEPTH) return 'wrong';
      this.#open += character;
      this.#wanted = character === '{' ? 'key-or-end' : 'value-or-end';
    } else {
      this.#bare = character;
      if (!mayBeBare(character)) return 'wrong';
    }
    return 'inside';
  }

  #close(character: string): JsonStep {
    const isObject = character === '}';
    const mayEnd = [isObject ? 'key-or-end' : 'value-or-end', 'comma-or-end'].includes(this.#wanted);
    if (!mayEnd || !this.#open.endsWith(isObject ? '{' : '[')) return 'wrong';
    this.#open = this.#open.slice(0, -1);
    return this.#ended();
  }

  #ended(): JsonStep {
    this.#wanted = 'comma-or-end';
    return this.#open === '' ? 'last' : 'inside';
  }
}

function isBare(text: string): boolean {
  return WORDS.includes(text) || NUMBER.test(text);
}

function mayBeBare(text: string): boolean {
  return NUMBER_BEGUN.test(text) || WORDS.some((word) => word.startsWith(text));
}

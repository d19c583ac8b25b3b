import type { Budget } from './budget.ts';
import { raise } from './jinja-error.ts';
import { Str } from './str.ts';
import { Dict, List, type Value } from './values.ts';

const SPACE = /[\t\n\r ]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
// oxlint-disable-next-line no-control-regex
const STRING = /"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
const WORDS: readonly (readonly [string, Value])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** Parses JSON as Python does: ints of any size, floats if there is a point or an exponent. Throws `JinjaError`. */
export function parseJson(text: string, budget: Budget): Value {
  const parser = new JsonParser(text, budget);
  const value = parser.value();
  parser.end();
  return value;
}

class JsonParser {
  readonly #text: string;
  readonly #budget: Budget;
  #at = 0;

  constructor(text: string, budget: Budget) {
    this.#text = text;
    this.#budget = budget;
  }

  value(): Value {
    this.#budget.enter();
    this.#skipSpace();
    const value = this.#value();
    this.#skipSpace();
    this.#budget.leave();
    return value;
  }

  end(): void {
    if (this.#at < this.#text.length) this.#fail();
  }

  #value(): Value {
    if (this.#skip('{')) return this.#dict();
    if (this.#skip('[')) return this.#list();
    const string = this.#match(STRING);
    if (string) return Str.outside(JSON.parse(string[0]) as string);
    const number = this.#match(NUMBER);
    if (number) {
      const isFloat = number[1] !== undefined || number[2] !== undefined;
      return isFloat ? Number(number[0]) : BigInt(number[0]);
    }
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#fail();
  }

  #dict(): Dict {
    const dict = new Dict();
    this.#skipSpace();
    if (this.#skip('}')) return dict;
    for (;;) {
      this.#skipSpace();
      const key = this.#match(STRING) ?? this.#fail();
      this.#skipSpace();
      if (!this.#skip(':')) this.#fail();
      dict.set(Str.outside(JSON.parse(key[0]) as string), this.value());
      if (this.#skip('}')) return dict;
      if (!this.#skip(',')) this.#fail();
    }
  }

  #list(): List {
    const items: Value[] = [];
    this.#skipSpace();
    if (this.#skip(']')) return new List(items);
    for (;;) {
      items.push(this.value());
      if (this.#skip(']')) return new List(items);
      if (!this.#skip(',')) this.#fail();
    }
  }

  #skip(character: string): boolean {
    const found = this.#text[this.#at] === character;
    if (found) this.#at++;
    return found;
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at = pattern.lastIndex;
    return found ?? undefined;
  }

  #fail(): never {
    return raise(`no JSON at character ${this.#at}`);
  }
}

import type { Fuel } from '../fuel.ts';
import type { Regex } from '../regex/regex.ts';
import { anyStringRegex, JsonSpelling } from './json-string.ts';
import { numberRegex } from './number-regex.ts';
import { isSurelyWritten, isTooFine, type Numbers } from './numbers.ts';
import { choice, text } from './regexes.ts';
import type { Values } from './shapes.ts';
import { type Texts, textsRegex } from './strings.ts';

/** The JSON of words, numbers and strings as languages; equal sets share one object, so that it is compiled once. */
export class ScalarRegexes {
  readonly spelling = new JsonSpelling();
  /** Languages that are known to have a text. */
  readonly someText = new Set<Regex>();
  readonly #regexes = new Map<string, Regex>();
  readonly #ids = new Map<Regex, number>();

  /** Equal for sets with equal scalars. */
  keyOf({ words, numbers, strings }: Values): string {
    const texts = strings.map((set) => this.#keyOfTexts(set));
    return JSON.stringify([[...words], numbers.map(keyOf), texts]);
  }

  /** The scalars of a set; with `isCanonical`, one spelling per value. Throws `GRAMMAR_TOO_COSTLY`. */
  of(values: Values, isCanonical: boolean, fuel: Fuel): Regex {
    const { words, numbers, strings } = values;
    return this.#once(`${isCanonical} ${this.keyOf(values)}`, () =>
      choice(
        ...Array.from(words, text),
        ...numbers.map((set) => this.#numbers(set, isCanonical, fuel)),
        ...strings.map((set) => this.#strings(set, isCanonical)),
      ),
    );
  }

  #numbers(set: Numbers, isCanonical: boolean, fuel: Fuel): Regex {
    if (isTooFine(set))
      fuel.refuse('numbers that are no multiples of one have too many remainders to tell apart');
    return this.#once(`${isCanonical} ${keyOf(set)}`, () => {
      const regex = numberRegex(set, isCanonical);
      if (isSurelyWritten(set)) this.someText.add(regex);
      return regex;
    });
  }

  #strings(set: Texts, isCanonical: boolean): Regex {
    if (set.kind === 'list' || set.languages.length > 0 || isCanonical)
      return this.spelling.quoted(textsRegex(set));
    return this.#once(`${set.min} ${set.max}`, () => anyStringRegex(set.min, set.max));
  }

  #keyOfTexts(set: Texts): unknown {
    if (set.kind === 'list') return [...set.values];
    return { min: set.min, max: String(set.max), languages: set.languages.map((one) => this.#idOf(one)) };
  }

  #idOf(language: Regex): number {
    const id = this.#ids.get(language) ?? this.#ids.size;
    this.#ids.set(language, id);
    return id;
  }

  #once(key: string, make: () => Regex): Regex {
    let regex = this.#regexes.get(key);
    if (!regex) {
      regex = make();
      this.#regexes.set(key, regex);
    }
    return regex;
  }
}

function keyOf(set: Numbers): string {
  if (set.kind === 'list') return JSON.stringify([...set.values]);
  return JSON.stringify({ ...set, without: [...set.without] }, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

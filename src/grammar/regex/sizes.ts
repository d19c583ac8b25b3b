import { Kind, type Language, UNLIMITED } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/** Cheap lower and upper bounds on how many texts languages have. */
export class Sizes {
  readonly #languages: Languages;
  readonly #least = new Map<Language, number>();

  constructor(languages: Languages) {
    this.#languages = languages;
  }

  /** A lower bound; Infinity for an infinite language. The language must have a text. */
  atLeast(language: Language): number {
    const known = this.#least.get(language);
    if (known !== undefined) return known;
    const least = Math.max(1, this.#findLeast(language));
    this.#least.set(language, least);
    return least;
  }

  #findLeast(language: Language): number {
    const languages = this.#languages;
    const kind = languages.kind(language);
    switch (kind) {
      case Kind.bytes:
        return languages.sets.bytesOf(languages.member(language, 1)).length;
      case Kind.concat:
        return this.#minOfConcat(language);
      case Kind.or:
        return Math.max(...languages.partsOf(language, kind).map((part) => this.atLeast(part)));
      case Kind.and:
        return this.#minOfAnd(languages.partsOf(language, kind));
      case Kind.not:
        return this.#atMost(languages.member(language, 1)) < Infinity ? Infinity : 1;
      case Kind.repeat: {
        const [part, min, max] = [1, 2, 3].map((at) => languages.member(language, at)) as [
          number,
          number,
          number,
        ];
        // Even a single text gives a text for each length.
        return max === UNLIMITED ? Infinity : Math.max(max - min + 1, this.atLeast(part));
      }
      case Kind.words:
        return languages.member(language, 8);
      default:
        return 1;
    }
  }

  /** Texts that begin with different bytes differ whatever follows; otherwise one of the parts differs. */
  #minOfConcat(language: Language): number {
    const languages = this.#languages;
    let product = 1;
    let least = 1;
    let rest = language;
    let isCounted = true;
    for (; languages.kind(rest) === Kind.concat; rest = languages.member(rest, 2)) {
      const head = languages.member(rest, 1);
      const size = this.atLeast(head);
      isCounted &&= languages.kind(head) === Kind.bytes;
      if (isCounted) product *= size;
      least = Math.max(least, size);
    }
    const last = this.atLeast(rest);
    return Math.max(isCounted ? product * last : product, least, last);
  }

  /** One part, minus the excluded texts. */
  #minOfAnd(parts: readonly Language[]): number {
    const languages = this.#languages;
    const others = parts.filter((part) => languages.kind(part) !== Kind.not);
    if (others.length !== 1) return 1;
    const excluded = parts
      .filter((part) => languages.kind(part) === Kind.not)
      .reduce((sum, part) => sum + this.#atMost(languages.member(part, 1)), 0);
    return excluded === Infinity ? 1 : this.atLeast(others[0] as Language) - excluded;
  }

  /** An upper bound; exact for a trie of literals. */
  #atMost(language: Language): number {
    const languages = this.#languages;
    const counted = new Map<Language, number>([
      [languages.never, 0],
      [languages.empty, 1],
    ]);
    const open = [language];
    for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
      const kind = languages.kind(at);
      const parts =
        kind === Kind.concat || kind === Kind.or
          ? kind === Kind.or
            ? languages.partsOf(at, kind)
            : [languages.member(at, 1), languages.member(at, 2)]
          : [];
      const missing = parts.filter((part) => !counted.has(part));
      if (missing.length > 0 && !counted.has(at)) {
        open.push(...missing);
        continue;
      }
      open.pop();
      const sizes = parts.map((part) => counted.get(part) as number);
      if (kind === Kind.bytes) counted.set(at, languages.sets.bytesOf(languages.member(at, 1)).length);
      else if (kind === Kind.words) counted.set(at, languages.member(at, 8));
      else if (kind === Kind.concat) counted.set(at, (sizes[0] as number) * (sizes[1] as number));
      else if (kind === Kind.or)
        counted.set(
          at,
          sizes.reduce((sum, size) => sum + size, 0),
        );
      else if (!counted.has(at)) counted.set(at, Infinity);
    }
    languages.fuel.spend(counted.size);
    return counted.get(language) as number;
  }
}

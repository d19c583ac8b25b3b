import { Kind, type Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/** Distances are not compared beyond this many bytes. */
const FAR = 1024;

/** A lower bound on the bytes of a language's shortest text, computed from its parts; at most 1024. */
export class Distances {
  readonly #languages: Languages;
  readonly #known = new Map<Language, number>();

  constructor(languages: Languages) {
    this.#languages = languages;
  }

  /** The distance of a language, cached. */
  of(language: Language): number {
    const known = this.#known.get(language);
    if (known !== undefined) return known;
    const distance = this.#languages.isNullable(language) ? 0 : Math.min(FAR, this.#find(language));
    this.#known.set(language, distance);
    return distance;
  }

  #find(language: Language): number {
    const languages = this.#languages;
    const kind = languages.kind(language);
    switch (kind) {
      case Kind.never:
        return FAR;
      case Kind.concat:
        return this.#ofConcat(language);
      case Kind.or:
        return Math.min(...languages.partsOf(language, kind).map((part) => this.of(part)));
      case Kind.and:
        return Math.max(...languages.partsOf(language, kind).map((part) => this.of(part)));
      case Kind.repeat:
        return languages.member(language, 2) * this.of(languages.member(language, 1));
      default:
        return 1;
    }
  }

  /** Iterates, because concatenations may be long. */
  #ofConcat(language: Language): number {
    const languages = this.#languages;
    let distance = 0;
    let rest = language;
    for (; languages.kind(rest) === Kind.concat && distance < FAR; rest = languages.member(rest, 2)) {
      distance += this.of(languages.member(rest, 1));
      languages.fuel.spend(1);
    }
    return distance < FAR ? distance + this.of(rest) : FAR;
  }
}

/** A priority queue of languages: the one nearest to a text comes first. */
export class Nearest {
  readonly #distances: Distances;
  readonly #open: Language[][] = [];
  #least = 0;

  constructor(distances: Distances) {
    this.#distances = distances;
  }

  add(language: Language): void {
    const distance = this.#distances.of(language);
    (this.#open[distance] ??= []).push(language);
    if (distance < this.#least) this.#least = distance;
  }

  /** Undefined when the queue is empty. */
  take(): Language | undefined {
    for (; this.#least < this.#open.length; this.#least++) {
      const language = this.#open[this.#least]?.pop();
      if (language !== undefined) return language;
    }
    return undefined;
  }
}

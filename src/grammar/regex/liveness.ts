import { bytesIn } from './byte-sets.ts';
import type { Derivatives } from './derivatives.ts';
import { Distances, Nearest } from './distances.ts';
import { Kind, type Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/**
 * Decides whether languages have texts at all. Without intersection and complement the constructors know; otherwise the
 * derivatives are searched for one that accepts, nearest first. Results are stored with the language.
 */
export class Liveness {
  readonly #languages: Languages;
  readonly #derivatives: Derivatives;
  readonly #canContinue = new Map<Language, boolean>();
  readonly #some: Language;
  readonly #distances: Distances;

  constructor(languages: Languages, derivatives: Derivatives) {
    this.#languages = languages;
    this.#derivatives = derivatives;
    this.#distances = new Distances(languages);
    this.#some = languages.not(languages.empty);
  }

  /** True when the language has a text. */
  isLive(language: Language): boolean {
    return this.#languages.knownLive(language) ?? this.#search(language);
  }

  /** True when the language has a nonempty text. */
  canContinue(language: Language): boolean {
    const languages = this.#languages;
    if (languages.isPlain(language)) {
      const kind = languages.kind(language);
      return kind !== Kind.never && kind !== Kind.empty && kind !== Kind.named;
    }
    if (!languages.isNullable(language)) return this.isLive(language);
    let known = this.#canContinue.get(language);
    if (known === undefined) {
      known = this.isLive(languages.and([language, this.#some]));
      this.#canContinue.set(language, known);
    }
    return known;
  }

  #search(language: Language): boolean {
    const languages = this.#languages;
    const parents = new Map<Language, Language | undefined>([[language, undefined]]);
    const open = new Nearest(this.#distances);
    open.add(language);
    for (let from = open.take(); from !== undefined; from = open.take()) {
      for (const [, to] of this.transitions(from)) {
        if (parents.has(to)) continue;
        const isLive = languages.knownLive(to);
        if (isLive === false) continue;
        if (isLive === undefined) {
          parents.set(to, from);
          open.add(to);
          continue;
        }
        for (let at: Language | undefined = from; at !== undefined; at = parents.get(at))
          languages.setLive(at, true);
        return true;
      }
    }
    for (const seen of parents.keys()) languages.setLive(seen, false);
    return false;
  }

  /** The derivatives by all bytes, each with its bytes, except `never`. */
  *transitions(language: Language): Generator<[number[], Language], void> {
    const { bits } = this.#derivatives;
    const left = new Int32Array(8).fill(-1);
    for (let byte = 0; byte < 256; byte++) {
      if ((((left[byte >>> 5] as number) >>> (byte & 31)) & 1) === 0) continue;
      bits.fill(-1);
      const to = this.#derivatives.derive(language, byte);
      for (let i = 0; i < 8; i++) left[i] = (left[i] as number) & ~(bits[i] as number);
      if (to !== this.#languages.never) yield [bytesIn(bits), to];
    }
  }
}

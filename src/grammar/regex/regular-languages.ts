import { Fuel } from '../fuel.ts';
import { Derivatives } from './derivatives.ts';
import type { Language } from './language-kinds.ts';
import { Languages } from './languages.ts';
import { Liveness } from './liveness.ts';
import { Multiples } from './multiples.ts';
import type { Regex } from './regex.ts';
import { RegexCompiler } from './regex-compiler.ts';
import { bytesOf } from './text-bytes.ts';
import { WordLists } from './word-lists.ts';

const MAX_STEPS = 2 ** 16;

/**
 * The regular languages of one table, with queries about them. Each query spends the fuel that it is given and throws
 * `GRAMMAR_TOO_COSTLY` when it runs out.
 */
export class RegularLanguages {
  readonly languages: Languages;
  readonly derivatives: Derivatives;
  readonly liveness: Liveness;
  readonly compiler: RegexCompiler;
  readonly words: WordLists;
  /** By language and byte: the derivative. Thousands of names are matched that share prefixes. */
  readonly #steps = new Map<number, Language>();

  constructor(fuel: Fuel) {
    this.languages = new Languages(fuel);
    const multiples = new Multiples(this.languages);
    this.words = new WordLists(this.languages);
    this.derivatives = new Derivatives(this.languages, multiples, this.words);
    this.liveness = new Liveness(this.languages, this.derivatives);
    this.compiler = new RegexCompiler(this.languages, multiples, this.words);
  }

  /** True when no text matches. */
  isEmpty(regex: Regex): boolean {
    return !this.liveness.isLive(this.compiler.compile(regex));
  }

  /** True when every text of `inner` is one of `outer`. */
  isSubset(inner: Regex, outer: Regex): boolean {
    const { languages, compiler } = this;
    const outside = languages.not(compiler.compile(outer));
    return !this.liveness.isLive(languages.and([compiler.compile(inner), outside]));
  }

  /** True when the whole text matches. */
  matches(regex: Regex, text: string): boolean {
    const { languages } = this;
    let language = this.compiler.compile(regex);
    for (const byte of bytesOf(text)) {
      language = this.#step(language, byte);
      if (language === languages.never) return false;
    }
    return languages.isNullable(language);
  }

  #step(language: Language, byte: number): Language {
    const key = language * 256 + byte;
    let next = this.#steps.get(key);
    if (next === undefined) {
      next = this.derivatives.derive(language, byte);
      if (this.#steps.size >= MAX_STEPS) this.#steps.clear();
      this.#steps.set(key, next);
    }
    return next;
  }

  /** All texts of a language with at most `most`, in byte order; undefined for larger languages. */
  texts(regex: Regex, most: number): string[] | undefined {
    const found: Uint8Array[] = [];
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const open: Place[] = [];
    const start = this.compiler.compile(regex);
    if (this.liveness.isLive(start)) open.push({ language: start, byte: 0, length: 0 });
    for (let at = open.pop(); at; at = open.pop()) {
      // Each open place leads to at least one more text, besides the one that ends there.
      if (this.languages.isNullable(at.language)) found.push(bytesTo(at));
      if (found.length > most) return undefined;
      const next = [...this.liveness.transitions(at.language)].reverse();
      for (const [bytes, language] of next) {
        if (!this.liveness.isLive(language)) continue;
        for (const byte of bytes.reverse()) open.push({ language, byte, before: at, length: at.length + 1 });
      }
      if (found.length + open.length > most) return undefined;
    }
    this.languages.fuel.spend(found.reduce((sum, bytes) => sum + bytes.length, 0));
    return found.map((bytes) => decoder.decode(bytes)).sort();
  }
}

/** A derivative of a language, and the bytes that lead to it. */
interface Place {
  readonly language: Language;
  /** The last of these bytes; the others are those of the previous place. */
  readonly byte: number;
  readonly before?: Place;
  readonly length: number;
}

function bytesTo(place: Place): Uint8Array {
  const bytes = new Uint8Array(place.length);
  for (let at: Place | undefined = place; at?.before; at = at.before) bytes[at.length - 1] = at.byte;
  return bytes;
}

/** True when the whole text matches; spends `fuel`, or the default amount. */
export function matchesRegex(regex: Regex, text: string, fuel = new Fuel('the pattern')): boolean {
  return new RegularLanguages(fuel).matches(regex, text);
}

/** True when no text matches. */
export function isEmptyRegex(regex: Regex, fuel = new Fuel('the pattern')): boolean {
  return new RegularLanguages(fuel).isEmpty(regex);
}

/** True when every text of `inner` is one of `outer`. */
export function isSubsetRegex(inner: Regex, outer: Regex, fuel = new Fuel('the patterns')): boolean {
  return new RegularLanguages(fuel).isSubset(inner, outer);
}

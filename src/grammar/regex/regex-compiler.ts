import { fail } from '../../base/errors.ts';
import { Kind, type Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';
import { anyOf } from './literals.ts';
import type { WordLists } from './word-lists.ts';
import type { Multiples } from './multiples.ts';
import type { Regex } from './regex.ts';
import { bytesOf } from './text-bytes.ts';
import { ANY_CHARACTER, type Ranges, utf8Language } from './utf8.ts';

const DEEPEST = 500;
const MAX_SCALE = 400;
/** Fewer texts than this are built as a trie, which merges what they share with adjacent parts. */
const MAX_JOINED = 64;

/** Compiles `Regex` to languages over bytes; parts that are the same object are compiled once. */
export class RegexCompiler {
  readonly #languages: Languages;
  readonly #multiples: Multiples;
  readonly #words: WordLists;
  readonly #made = new Map<Regex, Language>();
  readonly #anyOfTexts = new Map<string, Language>();
  /** The ranges of languages of one code point, so that counted ones can be intersected as numbers. */
  readonly #characters = new Map<Language, Ranges>();
  /** Every text of whole Unicode scalar values. */
  readonly anyText: Language;
  #depth = 0;

  constructor(languages: Languages, multiples: Multiples, words: WordLists) {
    this.#languages = languages;
    this.#multiples = multiples;
    this.#words = words;
    this.anyText = languages.repeat(this.#set(ANY_CHARACTER), 0, Infinity);
  }

  /** Throws `GRAMMAR_INVALID` for lone surrogates and for malformed sets and counts. */
  compile(regex: Regex): Language {
    const known = this.#made.get(regex);
    if (known !== undefined) return known;
    if (++this.#depth > DEEPEST) this.#languages.fuel.refuse(`it is nested more than ${DEEPEST} deep`);
    try {
      const language = this.#compile(regex);
      this.#made.set(regex, language);
      return language;
    } finally {
      this.#depth--;
    }
  }

  #compile(regex: Regex): Language {
    const languages = this.#languages;
    switch (regex.kind) {
      case 'never':
        return languages.never;
      case 'text':
        return languages.literal(bytesOf(regex.text));
      case 'set':
        return this.#set(checkedRanges(regex.ranges));
      case 'sequence':
        return regex.parts
          .map((part) => this.compile(part))
          .reduceRight((tail, head) => languages.concat(head, tail), languages.empty);
      case 'choice':
        return this.#choice(regex.parts);
      case 'both':
        return this.#both(regex.parts.map((part) => this.compile(part)));
      case 'not':
        return this.#not(regex.part);
      case 'repeat':
        checkCounts(regex.min, regex.max);
        return languages.repeat(this.compile(regex.part), regex.min, regex.max);
      case 'multiple':
        return this.#multiple(regex.step, regex.scale);
    }
  }

  #set(ranges: Ranges): Language {
    const language = utf8Language(this.#languages, ranges);
    this.#characters.set(language, ranges);
    return language;
  }

  #choice(parts: readonly Regex[]): Language {
    const texts: string[] = [];
    const others: Language[] = [];
    for (const part of parts) {
      if (part.kind === 'text') texts.push(part.text);
      else others.push(this.compile(part));
    }
    return this.#languages.or(texts.length === 0 ? others : [...others, this.#anyOf(texts)]);
  }

  /** Generated grammars repeat the same texts many times. */
  #anyOf(texts: readonly string[]): Language {
    const key = JSON.stringify(texts);
    let language = this.#anyOfTexts.get(key);
    if (language === undefined) {
      const spelled = texts.map(bytesOf);
      language = spelled.length < MAX_JOINED ? anyOf(this.#languages, spelled) : this.#words.anyOf(spelled);
      this.#anyOfTexts.set(key, language);
    }
    this.#languages.fuel.spend(texts.length);
    return language;
  }

  #not(part: Regex): Language {
    if (part.kind === 'not') return this.compile(part.part);
    return this.#languages.and([this.anyText, this.#languages.not(this.compile(part))]);
  }

  /** Every complement is intersected with `anyText`; other parts already imply it. */
  #both(parts: readonly Language[]): Language {
    const languages = this.#languages;
    const flat = new Set(parts.flatMap((part) => languages.partsOf(part, Kind.and)));
    const positive = [...flat].filter((part) => languages.kind(part) !== Kind.not && part !== this.anyText);
    if (positive.length === 0) return languages.and(parts.length === 0 ? [this.anyText] : [...flat]);
    flat.delete(this.anyText);
    return languages.and(this.#countedTogether([...flat]));
  }

  /** Counts of single characters intersect as numbers: `.{2,9}` and `[a-z]{0,5}` are `[a-z]{2,5}`. */
  #countedTogether(parts: readonly Language[]): Language[] {
    const languages = this.#languages;
    const others: Language[] = [];
    let ranges: Ranges | undefined;
    let [min, max] = [0, Infinity];
    for (const part of parts) {
      const isRepeat = languages.kind(part) === Kind.repeat;
      const own = this.#characters.get(isRepeat ? languages.member(part, 1) : part);
      if (!own) {
        others.push(part);
        continue;
      }
      ranges = ranges ? intersected(ranges, own) : own;
      min = Math.max(min, isRepeat ? languages.member(part, 2) : 1);
      max = Math.min(max, isRepeat ? languages.member(part, 3) : 1);
    }
    if (ranges) others.push(languages.repeat(this.#set(ranges), min, max));
    return others;
  }

  #multiple(step: bigint, scale: number): Language {
    if (step <= 0n || !Number.isInteger(scale) || scale < 0) {
      fail('GRAMMAR_INVALID', {
        reason: `multiples of ${step}/10^${scale}, expected a positive step and scale`,
      });
    }
    if (scale > MAX_SCALE) this.#languages.fuel.refuse(`multiples of a number with ${scale} decimals`);
    return this.#multiples.language(step, scale);
  }
}

/** Throws `GRAMMAR_INVALID` for invalid counts. */
export function checkCounts(min: number, max: number): void {
  const isCount =
    Number.isInteger(min) && min >= 0 && (max === Infinity || Number.isInteger(max)) && min <= max;
  if (!isCount) fail('GRAMMAR_INVALID', { reason: `a repetition of ${min} to ${max} times` });
}

function checkedRanges(ranges: Ranges): Ranges {
  let next = 0;
  for (const [first, last] of ranges) {
    if (
      !Number.isInteger(first) ||
      !Number.isInteger(last) ||
      first < next ||
      last < first ||
      last > 0x10ffff
    ) {
      fail('GRAMMAR_INVALID', { reason: `a set with the range ${first} to ${last} behind ${next - 1}` });
    }
    next = last + 1;
  }
  return ranges;
}

function intersected(a: Ranges, b: Ranges): Ranges {
  const result: (readonly [number, number])[] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length;) {
    const [aFirst, aLast] = a[i] as readonly [number, number];
    const [bFirst, bLast] = b[j] as readonly [number, number];
    const first = Math.max(aFirst, bFirst);
    const last = Math.min(aLast, bLast);
    if (first <= last) result.push([first, last]);
    if (aLast < bLast) i++;
    else j++;
  }
  return result;
}

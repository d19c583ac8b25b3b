import { compareBytes, sharedLength } from './byte-order.ts';
import { fail } from '../../base/errors.ts';
import type { Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';
import { bytesOf } from './text-bytes.ts';

/** Texts in byte order, with their numbers. */
interface WordList {
  readonly words: readonly Uint8Array[];
  readonly numbers: Int32Array;
  /** A word's number is reported where it ends. */
  readonly isNumbered: boolean;
}

/** The derivatives of a set of words by each first byte. */
export interface Branches {
  readonly bytes: readonly number[];
  readonly behind: readonly Language[];
  /** The bytes, as a set of the table. */
  readonly set: number;
}

/**
 * Word lists as lazily opened languages: of a thousand names, only what lies along the text is built. A language is a
 * range of words with a common prefix, without those whose number is out of bounds; equal sets of words are the same
 * language.
 */
export class WordLists {
  readonly #languages: Languages;
  readonly #lists: WordList[] = [];
  readonly #branches = new Map<Language, Branches>();

  constructor(languages: Languages) {
    this.#languages = languages;
  }

  /** Any of the texts. */
  anyOf(texts: readonly Uint8Array[]): Language {
    const sorted = [...texts].sort(compareBytes);
    const words = sorted.filter(
      (word, at) => at === 0 || compareBytes(word, sorted[at - 1] as Uint8Array) !== 0,
    );
    const list = this.#add({ words, numbers: Int32Array.from(words.keys()), isNumbered: false });
    return this.#within(list, 0, words.length, 0, 0, words.length - 1);
  }

  /**
   * A list with distinguishable words: where one ends, the language is the empty text with the word's number, its index
   * in `texts`. Throws `GRAMMAR_INVALID` when one text is a prefix of another.
   */
  numbered(texts: readonly string[]): number {
    // Words with a common byte prefix are also adjacent in UTF-16 order, which is faster to compare.
    const order = Array.from(texts.keys()).sort((a, b) =>
      (texts[a] as string) < (texts[b] as string) ? -1 : 1,
    );
    const words = order.map((number) => bytesOf(texts[number] as string));
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as Uint8Array;
      const before = words[at - 1];
      if (word.length > 0 && !(before && sharedLength(before, word) === before.length)) continue;
      const shown = JSON.stringify(texts[order[at] as number]);
      fail('GRAMMAR_INVALID', { reason: `${shown} cannot be told from the beginning of another member` });
    }
    return this.#add({ words, numbers: Int32Array.from(order), isNumbered: true });
  }

  /** The words of a numbered list with numbers from `low` to `high`. */
  between(list: number, low: number, high: number): Language {
    return this.#within(list, 0, (this.#lists[list] as WordList).words.length, 0, low, high);
  }

  /** The derivative by the byte; clears in `bits` the bytes that have another derivative. */
  derive(language: Language, byte: number, bits: Int32Array): Language {
    const { sets, never } = this.#languages;
    const { bytes, behind, set } = this.branchesOf(language);
    const at = bytes.indexOf(byte);
    if (at < 0) {
      sets.narrow(set, byte, bits);
      return never;
    }
    for (let i = 0; i < bits.length; i++)
      bits[i] = i === byte >>> 5 ? (bits[i] as number) & (1 << (byte & 31)) : 0;
    return behind[at] as Language;
  }

  /** The derivatives of the words of a list. */
  branchesOf(language: Language): Branches {
    let branches = this.#branches.get(language);
    if (!branches) {
      branches = this.#open(language);
      this.#branches.set(language, branches);
    }
    return branches;
  }

  #add(list: WordList): number {
    this.#languages.fuel.spend(list.words.length);
    return this.#lists.push(list) - 1;
  }

  #open(language: Language): Branches {
    const languages = this.#languages;
    const [list = 0, from = 0, to = 0, depth = 0, low = 0, high = 0] = [1, 2, 3, 4, 5, 6].map((member) =>
      languages.member(language, member),
    );
    const { words } = this.#lists[list] as WordList;
    const bytes: number[] = [];
    const behind: Language[] = [];
    for (let at = from; at < to;) {
      const byte = (words[at] as Uint8Array)[depth];
      let end = at + 1;
      while (end < to && (words[end] as Uint8Array)[depth] === byte) end++;
      if (byte !== undefined) {
        const next = this.#within(list, at, end, depth + 1, low, high);
        if (next !== languages.never) {
          bytes.push(byte);
          behind.push(next);
        }
      }
      at = end;
    }
    languages.fuel.spend(1 + ((to - from) >> 4) + bytes.length);
    return { bytes, behind, set: languages.sets.of(bytes) };
  }

  /**
   * The words of a range of the list, after their common prefix, with numbers within bounds; the language is identified
   * by its words alone.
   */
  #within(list: number, from: number, to: number, depth: number, low: number, high: number): Language {
    const { words, numbers, isNumbered } = this.#lists[list] as WordList;
    let [first, last, count] = [-1, -1, 0];
    let [least, most] = [Infinity, -1];
    for (let at = from; at < to; at++) {
      const number = numbers[at] as number;
      if (number < low || number > high) continue;
      if (first < 0) first = at;
      last = at;
      count++;
      if (number < least) least = number;
      if (number > most) most = number;
    }
    if (first < 0) return this.#languages.never;
    const ends = (words[first] as Uint8Array).length === depth;
    if (ends && count === 1)
      return isNumbered ? this.#languages.named(numbers[first] as number) : this.#languages.empty;
    return this.#languages.words([list, first, last + 1, depth, least, most, ends ? 1 : 0, count]);
  }
}

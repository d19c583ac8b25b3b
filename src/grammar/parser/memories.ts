import { withText } from '../regex/literals.ts';
import type { Language } from '../regex/language-kinds.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { TupleTable } from '../tuple-table.ts';

/** The empty memory of a scope. */
export const NO_MEMORY = 0;

/** The texts that `distinct` terminals have matched in a scope, as interned linked lists. */
export class Memories {
  readonly #regular: RegularLanguages;
  /** [previous memory, bytes of the text]. */
  readonly #table = new TupleTable();
  readonly #texts: Language[];
  readonly #counts = [0];
  /** The number of texts in the largest memory. */
  maxTexts = 0;

  constructor(regular: RegularLanguages) {
    this.#regular = regular;
    this.#table.intern([]);
    this.#texts = [regular.languages.never];
  }

  /** The memory with one more text. */
  with(memory: number, text: Uint8Array): number {
    const before = this.#table.size;
    const next = this.#table.intern([memory, ...text]);
    if (next === before) {
      const count = (this.#counts[memory] as number) + 1;
      this.#counts.push(count);
      this.maxTexts = Math.max(this.maxTexts, count);
      this.#texts.push(withText(this.#regular.languages, this.#texts[memory] as Language, text));
    }
    return next;
  }

  /** The language without the texts in the memory. */
  unmatched(language: Language, memory: number): Language {
    const { languages } = this.#regular;
    return languages.and([language, languages.not(this.#texts[memory] as Language)]);
  }
}

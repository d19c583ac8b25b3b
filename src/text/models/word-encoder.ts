import { Pretokenizer } from '../pretokenizer.ts';
import type { PretokenizerKind } from '../pretokenizer-kinds.ts';
import type { StringList } from '../string-list.ts';
import { type PairMerges, SymbolMerger } from '../symbol-merger.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { MergeList } from './merge-list.ts';
import { ByteSpelling, CharacterSpelling, type Spelling } from './spelling.ts';
import { SymbolTable } from './symbol-table.ts';

const CACHED_WORDS = 1 << 15;
const CACHED_WORD_LENGTH = 32;
const LINE_BREAKS = /^\n+$/;
const NO_MERGES: PairMerges = { rankOf: () => -1, join: (left) => left };

/** The encoding half of a byte-pair model: pre-tokenizer, merges, and a bounded memory of the words it has met. */
export class WordEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #kind: PretokenizerKind;
  readonly #pretokenizer: Pretokenizer;
  readonly #table: SymbolTable;
  readonly #spelling: Spelling;
  readonly #merger: SymbolMerger;
  readonly #words = new Map<string, readonly number[]>();

  constructor(
    vocabulary: Vocabulary,
    kind: PretokenizerKind,
    merges: StringList | undefined,
    unknown: number | undefined,
  ) {
    this.#vocabulary = vocabulary;
    this.#kind = kind;
    this.#pretokenizer = new Pretokenizer(kind.rules);
    this.#table = new SymbolTable(vocabulary);
    this.#spelling = kind.plainCharacters
      ? new CharacterSpelling(this.#table, vocabulary, kind.escapesSpaces === true, unknown)
      : new ByteSpelling(this.#table, unknown);
    this.#merger = new SymbolMerger(
      merges === undefined ? NO_MERGES : new MergeList(merges, vocabulary, this.#table),
    );
  }

  encode(text: string, out: number[]): void {
    for (const word of this.#pretokenizer.split(this.#spelling.prepare(text))) {
      for (const id of this.#encodeWord(word)) out.push(id);
    }
  }

  #encodeWord(word: string): readonly number[] {
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    const whole = this.#wholeWord(word);
    const ids = whole === undefined ? this.#mergeWord(word) : [whole];
    if (word.length <= CACHED_WORD_LENGTH) {
      if (this.#words.size >= CACHED_WORDS) this.#words.clear();
      this.#words.set(word, ids);
    }
    return ids;
  }

  #wholeWord(word: string): number | undefined {
    const { ignoreMerges, wholeLineBreaks } = this.#kind;
    if (!ignoreMerges && !(wholeLineBreaks && LINE_BREAKS.test(word))) return undefined;
    return this.#vocabulary.plainIdOf(this.#spelling.spell(word));
  }

  #mergeWord(word: string): readonly number[] {
    const symbols = new Int32Array(word.length * 3);
    const count = this.#merger.merge(symbols, this.#spelling.toSymbols(word, symbols));
    const ids: number[] = [];
    for (let i = 0; i < count; i++) {
      const symbol = symbols[i] as number;
      if (this.#table.isToken(symbol)) ids.push(symbol);
      else this.#spelling.fallBack(symbol, ids);
    }
    return ids;
  }
}

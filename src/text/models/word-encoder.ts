import { finish, type Steps } from '../../base/turns.ts';
import { Pretokenizer } from '../pretokenizer.ts';
import type { PretokenizerKind } from '../pretokenizer-kinds.ts';
import type { StringList } from '../string-list.ts';
import { type PairMerges, SymbolMerger } from '../symbol-merger.ts';
import { stretchesOf } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { MergeList } from './merge-list.ts';
import { ByteSpelling, CharacterSpelling, type Spelling } from './spelling.ts';
import { SymbolTable } from './symbol-table.ts';

const CACHED_WORDS = 1 << 15;
const CACHED_WORD_LENGTH = 32;
/** Characters per slice between pauses. */
const AT_ONCE = 1 << 12;
const LINE_BREAKS = /^\n+$/;
const NO_MERGES: PairMerges = { rankOf: () => -1, join: (left) => left };

/** The encoder of a byte-pair model: pre-tokenizer, merges, and a bounded cache of words. */
export class WordEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #kind: PretokenizerKind;
  readonly #pretokenizer: Pretokenizer;
  readonly #table: SymbolTable;
  readonly #spelling: Spelling;
  readonly #merger: SymbolMerger;
  /** Longer words cannot be tokens: a spelling has at least one byte per UTF-16 unit. */
  readonly #longest: number;
  readonly #words = new Map<string, readonly number[]>();

  constructor(
    vocabulary: Vocabulary,
    kind: PretokenizerKind,
    merges: StringList | undefined,
    unknown: number | undefined,
  ) {
    this.#vocabulary = vocabulary;
    this.#kind = kind;
    this.#longest = vocabulary.longest;
    this.#pretokenizer = new Pretokenizer(kind.rules);
    this.#table = new SymbolTable(vocabulary);
    this.#spelling = kind.plainCharacters
      ? new CharacterSpelling(this.#table, vocabulary, kind.escapesSpaces === true, unknown)
      : new ByteSpelling(this.#table);
    this.#merger = new SymbolMerger(
      merges === undefined ? NO_MERGES : new MergeList(merges, vocabulary, this.#table),
    );
  }

  *encode(text: string, out: number[]): Steps {
    let encoded = 0;
    for (const words of this.#pretokenizer.words(this.#spelling.prepare(text))) {
      for (const word of words) {
        if (word.length > CACHED_WORD_LENGTH) yield* this.#encodeLong(word, out);
        else for (const id of this.#encodeShort(word)) out.push(id);
        encoded += word.length;
        if (encoded < AT_ONCE) continue;
        yield;
        encoded = 0;
      }
    }
  }

  #encodeShort(word: string): readonly number[] {
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    const ids: number[] = [];
    finish(this.#encodeLong(word, ids));
    if (this.#words.size >= CACHED_WORDS) this.#words.clear();
    this.#words.set(word, ids);
    return ids;
  }

  *#encodeLong(word: string, out: number[]): Steps {
    const whole = this.#wholeWord(word);
    if (whole === undefined) yield* this.#mergeWord(word, out);
    else out.push(whole);
  }

  #wholeWord(word: string): number | undefined {
    if (word.length > this.#longest) return undefined;
    const { ignoreMerges, wholeLineBreaks } = this.#kind;
    if (!ignoreMerges && !(wholeLineBreaks && LINE_BREAKS.test(word))) return undefined;
    return this.#vocabulary.plainIdOf(this.#spelling.spell(word));
  }

  *#mergeWord(word: string, out: number[]): Steps {
    const symbols = new Int32Array(word.length * 3);
    let spelled = 0;
    for (const stretch of stretchesOf(word, AT_ONCE)) {
      if (spelled > 0) yield;
      spelled += this.#spelling.toSymbols(stretch, symbols.subarray(spelled));
    }
    const count = yield* this.#merger.mergeSteps(symbols, spelled);
    for (let i = 0; i < count; i++) {
      const symbol = symbols[i] as number;
      if (this.#table.isToken(symbol)) out.push(symbol);
      else this.#spelling.fallBack(symbol, out);
      if (i % AT_ONCE === AT_ONCE - 1) yield;
    }
  }
}

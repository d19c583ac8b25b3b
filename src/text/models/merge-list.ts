import { IntPairMap } from '../int-pair-map.ts';
import type { StringList } from '../string-list.ts';
import type { PairMerges } from '../symbol-merger.ts';
import type { Vocabulary } from '../vocabulary.ts';
import type { SymbolTable } from './symbol-table.ts';

const SPACE = 0x20;

/** The ranked merges of `tokenizer.ggml.merges`: lines of two symbols separated by a space. */
export class MergeList implements PairMerges {
  readonly #vocabulary: Vocabulary;
  readonly #symbols: SymbolTable;
  readonly #ranks: IntPairMap;
  /** The symbol that each rank's pair merges into; -1 until first needed, which avoids the lookups when loading. */
  readonly #joined: Int32Array;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  constructor(lines: StringList, vocabulary: Vocabulary, symbols: SymbolTable) {
    this.#vocabulary = vocabulary;
    this.#symbols = symbols;
    this.#ranks = new IntPairMap(lines.length);
    this.#joined = new Int32Array(lines.length).fill(-1);
    const { bytes } = lines;
    for (let rank = 0; rank < lines.length; rank++) {
      const start = lines.start(rank);
      const end = lines.end(rank);
      let space = start + 1;
      while (space < end && bytes[space] !== SPACE) space++;
      if (space >= end) continue;
      const left = this.#symbolOf(bytes, start, space);
      const right = this.#symbolOf(bytes, space + 1, end);
      if (this.#ranks.get(left, right) < 0) this.#ranks.set(left, right, rank);
    }
  }

  rankOf(left: number, right: number): number {
    return this.#ranks.get(left, right);
  }

  join(left: number, right: number): number {
    const rank = this.#ranks.get(left, right);
    let symbol = this.#joined[rank] as number;
    if (symbol < 0) {
      symbol = this.#symbols.symbolOf(this.#symbols.textOf(left) + this.#symbols.textOf(right));
      this.#joined[rank] = symbol;
    }
    return symbol;
  }

  #symbolOf(bytes: Uint8Array, start: number, end: number): number {
    const id = this.#vocabulary.find(bytes, start, end);
    return id >= 0 ? id : this.#symbols.symbolOf(this.#decoder.decode(bytes.subarray(start, end)));
  }
}

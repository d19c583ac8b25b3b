import { IntPairMap } from '../int-pair-map.ts';
import type { PairMerges } from '../symbol-merger.ts';
import type { SymbolTable } from './symbol-table.ts';

/** The ranked merges of `tokenizer.ggml.merges`: lines of two symbols with a space between. */
export class MergeList implements PairMerges {
  readonly #symbols: SymbolTable;
  readonly #ranks: IntPairMap;
  /** The symbol that each rank's pair becomes; -1 until it is first asked, which spares the look-ups when loading. */
  readonly #joined: Int32Array;

  constructor(lines: readonly string[], symbols: SymbolTable) {
    this.#symbols = symbols;
    this.#ranks = new IntPairMap(lines.length);
    this.#joined = new Int32Array(lines.length).fill(-1);
    for (let rank = 0; rank < lines.length; rank++) {
      const line = lines[rank] as string;
      const space = line.indexOf(' ', 1);
      if (space < 0) continue;
      const left = symbols.symbolOf(line.slice(0, space));
      const right = symbols.symbolOf(line.slice(space + 1));
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
}

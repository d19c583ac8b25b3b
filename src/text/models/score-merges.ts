import { IntPairMap } from '../int-pair-map.ts';
import type { PairMerges } from '../symbol-merger.ts';
import type { Vocabulary } from '../vocabulary.ts';
import type { SymbolTable } from './symbol-table.ts';

const NO_TOKEN = -2;
const REMEMBERED_PAIRS = 1 << 20;

/**
 * Merges without a list: two symbols merge if their concatenation is a token, ranked by its score. Lookups are cached,
 * up to a limit.
 */
export class ScoreMerges implements PairMerges {
  readonly #vocabulary: Vocabulary;
  readonly #symbols: SymbolTable;
  readonly #rankOfToken: Int32Array;
  readonly #unions = new IntPairMap(1 << 12);

  constructor(vocabulary: Vocabulary, symbols: SymbolTable) {
    this.#vocabulary = vocabulary;
    this.#symbols = symbols;
    this.#rankOfToken = rankScores(vocabulary);
  }

  rankOf(left: number, right: number): number {
    const token = this.join(left, right);
    return token < 0 ? -1 : (this.#rankOfToken[token] as number);
  }

  /** The merged token, or a negative number if there is none. */
  join(left: number, right: number): number {
    const remembered = this.#unions.get(left, right);
    if (remembered !== -1) return remembered;
    const union = this.#symbols.textOf(left) + this.#symbols.textOf(right);
    const token = this.#vocabulary.plainIdOf(union) ?? NO_TOKEN;
    if (this.#unions.size >= REMEMBERED_PAIRS) this.#unions.clear();
    this.#unions.set(left, right, token);
    return token;
  }
}

/** The rank of each token's score, best first; equal scores share a rank. */
function rankScores(vocabulary: Vocabulary): Int32Array {
  const scores = Float32Array.from(vocabulary.scores).subarray(0, vocabulary.size);
  const places = new Map<number, number>();
  const descending = scores.slice().sort().reverse();
  for (const score of descending) if (!places.has(score)) places.set(score, places.size);
  return Int32Array.from(scores, (score) => places.get(score) as number);
}

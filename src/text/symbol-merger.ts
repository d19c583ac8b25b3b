import { finish, type Steps } from '../base/turns.ts';
import { MergeQueue } from './merge-queue.ts';

/**
 * Which adjacent symbols merge, and in which order. Symbols are non-negative integers whose meaning is up to the
 * caller.
 */
export interface PairMerges {
  /** The pair's rank, lowest first; -1 if the two do not merge. Below 2²¹. */
  rankOf(left: number, right: number): number;
  /** The symbol that the pair becomes; called only for pairs that have a rank. */
  join(left: number, right: number): number;
}

const GONE = -1;
/** Symbols that are merged at once; their scratch memory is kept. */
const AT_ONCE = 1 << 11;

/**
 * Merges adjacent symbols until no pair has a rank: always the lowest rank, the leftmost among equals. A linked list
 * with a heap, so n symbols take O(n log n) however repetitive they are.
 */
export class SymbolMerger {
  readonly #merges: PairMerges;
  readonly #kept: Merging;

  constructor(merges: PairMerges) {
    this.#merges = merges;
    this.#kept = new Merging(merges, AT_ONCE);
  }

  /**
   * Merges the first `count` symbols in place and returns how many are left. While it pauses, other symbols may be
   * merged.
   */
  *mergeSteps(symbols: Int32Array, count: number): Steps<number> {
    if (count < 2) return count;
    if (count <= AT_ONCE) return finish(this.#kept.steps(symbols, count));
    return yield* new Merging(this.#merges, count).steps(symbols, count);
  }
}

/** The scratch memory of merging up to so many symbols. */
class Merging {
  readonly #merges: PairMerges;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  readonly #queue = new MergeQueue();

  constructor(merges: PairMerges, capacity: number) {
    this.#merges = merges;
    this.#next = new Int32Array(capacity);
    this.#previous = new Int32Array(capacity);
  }

  *steps(symbols: Int32Array, count: number): Steps<number> {
    const next = this.#next;
    const previous = this.#previous;
    for (let i = 0; i < count; i++) {
      next[i] = i + 1;
      previous[i] = i - 1;
    }
    for (let i = 0; i + 1 < count; i++) {
      this.#propose(symbols, i, i + 1);
      if (i % AT_ONCE === AT_ONCE - 1) yield;
    }
    for (let merged = 1; this.#queue.length > 0; merged++) {
      this.#mergeFirst(symbols, count);
      if (merged % AT_ONCE === 0) yield;
    }
    let length = 0;
    for (let i = 0; i < count; i = next[i] as number) symbols[length++] = symbols[i] as number;
    return length;
  }

  #mergeFirst(symbols: Int32Array, count: number): void {
    const key = this.#queue.pop();
    const left = MergeQueue.positionOf(key);
    const right = this.#next[left] as number;
    if (symbols[left] === GONE || right >= count) return;
    const a = symbols[left] as number;
    const b = symbols[right] as number;
    // An entry outlives its pair if a neighbour merged first; the pair at this position then has another rank.
    if (this.#merges.rankOf(a, b) !== MergeQueue.rankOf(key)) return;
    symbols[left] = this.#merges.join(a, b);
    symbols[right] = GONE;
    const after = this.#next[right] as number;
    this.#next[left] = after;
    if (after < count) {
      this.#previous[after] = left;
      this.#propose(symbols, left, after);
    }
    const before = this.#previous[left] as number;
    if (before >= 0) this.#propose(symbols, before, left);
  }

  #propose(symbols: Int32Array, left: number, right: number): void {
    const rank = this.#merges.rankOf(symbols[left] as number, symbols[right] as number);
    if (rank >= 0) this.#queue.push(rank, left);
  }
}

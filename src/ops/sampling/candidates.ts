import { type BlockMaxima, MAXIMA_BLOCK } from './block-maxima.ts';

/** What a stage may know besides the candidates and its own parameter. */
export interface StageContext {
  /** The stage's second parameter; its own if it has none. */
  readonly beside: number;
  readonly temperature: number;
  /** Those of the logits, if they are known. */
  readonly maxima?: BlockMaxima | undefined;
  /** The fewest tokens that a stage leaves of those there are, except top-k; 0 or 1 for no more than one. */
  readonly minKeep: number;
  /** A separate random number in [0, 1), distinguished from others by `changed`. */
  uniform(changed: number): number;
}

/**
 * The remaining candidate tokens, each with a key that ranks it: higher first, equal keys by lower id. They are ranked
 * lazily: the best tokens are popped off a heap one by one as needed, and collect at the end of the arrays (`[0,
 * #open)` is the heap, `[#open, count)` the popped ones with the best last).
 */
export class Candidates {
  readonly ids: Int32Array;
  readonly keys: Float64Array;
  count = 0;
  #open = 0;
  #heaped = false;

  constructor(capacity: number) {
    this.ids = new Int32Array(capacity);
    this.keys = new Float64Array(capacity);
  }

  /** All tokens whose logit is above -Infinity and not NaN. */
  fillAll(logits: Float32Array): void {
    let count = 0;
    for (let id = 0; id < logits.length; id++) {
      const logit = logits[id] as number;
      if (logit > -Infinity) {
        this.ids[count] = id;
        this.keys[count++] = logit;
      }
    }
    this.count = count;
    this.unrank();
  }

  /** The `limit` best of `fillAll`, in one pass over the logits: a heap keeps the worst of the best at its root. */
  fillTop(logits: Float32Array, limit: number, maxima?: BlockMaxima): void {
    const { ids, keys } = this;
    const block = maxima ? MAXIMA_BLOCK : logits.length;
    let count = 0;
    let worst = -Infinity;
    for (let first = 0; first < logits.length; first += block) {
      if (maxima && !((maxima.values[first / MAXIMA_BLOCK] as number) > worst)) continue;
      const end = Math.min(logits.length, first + block);
      for (let id = first; id < end; id++) {
        const logit = logits[id] as number;
        if (!(logit > worst)) continue;
        if (count < limit) {
          ids[count] = id;
          keys[count++] = logit;
          if (count < limit) continue;
          for (let at = (limit >> 1) - 1; at >= 0; at--) {
            this.#settle(at, limit, keys[at] as number, ids[at] as number, false);
          }
        } else this.#settle(0, limit, logit, id, false);
        worst = keys[0] as number;
      }
    }
    this.count = count;
    this.unrank();
  }

  /** Discards the order after keys were changed. */
  unrank(): void {
    this.#open = this.count;
    this.#heaped = false;
  }

  /** Ranks by logit again, after a stage that used other keys. */
  rankByLogit(logits: Float32Array): void {
    for (let i = 0; i < this.count; i++) this.keys[i] = logits[this.ids[i] as number] as number;
    this.unrank();
  }

  /** Sorts the ids in ascending order without their keys, for a stage that sets new ones. */
  orderById(): void {
    let ordered = true;
    for (let i = 1; i < this.count && ordered; i++) {
      ordered = (this.ids[i - 1] as number) < (this.ids[i] as number);
    }
    if (!ordered) this.ids.subarray(0, this.count).sort();
  }

  /** The index of the token of this rank in `ids` and `keys`; 0 is the best. */
  indexOf(rank: number): number {
    while (this.count - this.#open <= rank) this.#pop();
    return this.count - 1 - rank;
  }

  /** Drops all but the best `limit` tokens. */
  keepBest(limit: number): void {
    if (limit >= this.count) return;
    const start = this.indexOf(limit - 1);
    this.ids.copyWithin(0, start, this.count);
    this.keys.copyWithin(0, start, this.count);
    this.count = limit;
    this.#open = 0;
  }

  /** Drops the tokens whose key is below a floor. */
  keepAbove(floor: number): void {
    const { ids, keys } = this;
    let count = 0;
    for (let i = 0; i < this.count; i++) {
      const key = keys[i] as number;
      if (key < floor) continue;
      ids[count] = ids[i] as number;
      keys[count++] = key;
    }
    this.count = count;
    if (this.#open > 0) this.unrank();
  }

  #pop(): void {
    const { ids, keys } = this;
    if (!this.#heaped) {
      for (let at = (this.#open >> 1) - 1; at >= 0; at--) {
        this.#settle(at, this.#open, keys[at] as number, ids[at] as number, true);
      }
      this.#heaped = true;
    }
    const last = --this.#open;
    const key = keys[last] as number;
    const id = ids[last] as number;
    keys[last] = keys[0] as number;
    ids[last] = ids[0] as number;
    if (last > 0) this.#settle(0, last, key, id, true);
  }

  /** Sifts an entry down from `hole` in a heap with the best (or the worst) at its root. */
  #settle(hole: number, size: number, key: number, id: number, bestFirst: boolean): void {
    const { ids, keys } = this;
    let at = hole;
    for (let child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && this.#precedes(child + 1, child, bestFirst)) child++;
      const childKey = keys[child] as number;
      const childId = ids[child] as number;
      const better = childKey === key ? childId < id : childKey > key;
      if (better !== bestFirst) break;
      keys[at] = childKey;
      ids[at] = childId;
      at = child;
    }
    keys[at] = key;
    ids[at] = id;
  }

  #precedes(a: number, b: number, bestFirst: boolean): boolean {
    const keyA = this.keys[a] as number;
    const keyB = this.keys[b] as number;
    const better = keyA === keyB ? (this.ids[a] as number) < (this.ids[b] as number) : keyA > keyB;
    return better === bestFirst;
  }
}

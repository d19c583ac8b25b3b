const EMPTY = -1;
/** A slot is three adjacent integers, so that a lookup touches one cache line: first, second, value. */
const SLOT = 3;

/**
 * A hash table from pairs of non-negative 32-bit integers to an integer: open addressing in one typed array, so that
 * hundreds of thousands of merges or trie edges cost no objects.
 */
export class IntPairMap {
  #slots: Int32Array;
  #mask: number;
  #size = 0;

  /** `expected`: the estimated number of pairs. */
  constructor(expected = 16) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(16, expected * 1.5)));
    this.#slots = new Int32Array(capacity * SLOT).fill(EMPTY);
    this.#mask = capacity - 1;
  }

  get size(): number {
    return this.#size;
  }

  /** The value of the pair, or -1 if it has none. */
  get(first: number, second: number): number {
    return this.#slots[this.#find(first, second) + 2] as number;
  }

  /** Stores a value other than -1. */
  set(first: number, second: number, value: number): void {
    let at = this.#find(first, second);
    if (this.#slots[at] === EMPTY) {
      if ((this.#size + 1) * 4 > (this.#mask + 1) * 3) {
        this.#grow();
        at = this.#find(first, second);
      }
      this.#slots[at] = first;
      this.#slots[at + 1] = second;
      this.#size++;
    }
    this.#slots[at + 2] = value;
  }

  clear(): void {
    this.#slots.fill(EMPTY);
    this.#size = 0;
  }

  /** The index of the pair's slot, or of the free slot where it would go. */
  #find(first: number, second: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    let hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    let slot = (hash ^ (hash >>> 13)) & mask;
    for (;;) {
      const at = slot * SLOT;
      const stored = slots[at];
      if (stored === EMPTY || (stored === first && slots[at + 1] === second)) return at;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2).fill(EMPTY);
    this.#mask = this.#mask * 2 + 1;
    for (let from = 0; from < old.length; from += SLOT) {
      const first = old[from] as number;
      if (first === EMPTY) continue;
      const at = this.#find(first, old[from + 1] as number);
      this.#slots.set(old.subarray(from, from + SLOT), at);
    }
  }
}

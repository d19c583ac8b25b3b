import { Ints } from '../tuple-table.ts';

/** A transition that has not been computed yet. */
export const UNKNOWN = -2;

const BYTES = 256;
/** The limit on rows: 16 MiB of them. */
const MAX_ROWS = 16 * 1024;
const ROWS_PER_CHUNK = 64;

/**
 * A cache of transitions by state and byte. When it has too many rows, all are dropped and computed again on demand.
 */
export class TransitionRows {
  #chunks: Int32Array[] = [];
  #count = 0;
  /** By state: the number of its row plus one, 0 for none. */
  #rowOf = new Ints();

  get(state: number, byte: number): number {
    const row = state < this.#rowOf.length ? this.#rowOf.at(state) - 1 : -1;
    if (row < 0) return UNKNOWN;
    const chunk = this.#chunks[Math.floor(row / ROWS_PER_CHUNK)] as Int32Array;
    return chunk[(row % ROWS_PER_CHUNK) * BYTES + byte] as number;
  }

  set(state: number, byte: number, next: number): void {
    while (this.#rowOf.length <= state) this.#rowOf.push(0);
    let row = this.#rowOf.at(state) - 1;
    if (row < 0) row = this.#add(state);
    (this.#chunks[Math.floor(row / ROWS_PER_CHUNK)] as Int32Array)[(row % ROWS_PER_CHUNK) * BYTES + byte] =
      next;
  }

  /** Sets the same next state for every byte. */
  fill(state: number, next: number): void {
    this.set(state, 0, next);
    const row = this.#rowOf.at(state) - 1;
    const start = (row % ROWS_PER_CHUNK) * BYTES;
    (this.#chunks[Math.floor(row / ROWS_PER_CHUNK)] as Int32Array).fill(next, start, start + BYTES);
  }

  #add(state: number): number {
    if (this.#count === MAX_ROWS) {
      this.#chunks = [];
      this.#count = 0;
      this.#rowOf.array.fill(0);
    }
    const row = this.#count++;
    if (row % ROWS_PER_CHUNK === 0) this.#chunks.push(new Int32Array(ROWS_PER_CHUNK * BYTES).fill(UNKNOWN));
    this.#rowOf.array[state] = row + 1;
    return row;
  }
}

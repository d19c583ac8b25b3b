import { invariant } from '../../base/errors.ts';
import { ExpertScores } from './expert-scores.ts';

/** An expert that has to be loaded, and the slot for it. */
export interface ExpertMiss {
  readonly expert: number;
  readonly slot: number;
}

/**
 * Which experts of a layer are on the device: an LFU cache whose counts decay, so that it follows what texts are about.
 * Recent uses alone would let a single prompt evict what most texts use.
 */
export class ExpertCache {
  readonly #scores: ExpertScores;
  readonly #slotOf: Int32Array;
  /** The expert of each slot; -1 for an empty one. */
  readonly #experts: Int32Array;

  constructor(experts: number, slots: number) {
    invariant(slots > 0 && slots <= experts, 'some experts have slots');
    this.#scores = new ExpertScores(experts);
    this.#slotOf = new Int32Array(experts).fill(-1);
    this.#experts = new Int32Array(slots).fill(-1);
  }

  /** Slots, which is also the largest group. */
  get slots(): number {
    return this.#experts.length;
  }

  /** Counts the choices of `rows` rows; returns the distinct experts, those with slots first. */
  use(ids: Int32Array, rows: number): number[] {
    for (const id of ids) this.#scores.add(id, 1);
    this.#scores.age(rows);
    const missing = (id: number) => (this.slotOf(id) < 0 ? 1 : 0);
    return [...new Set(ids)].sort((a, b) => missing(a) - missing(b) || a - b);
  }

  /** The expert's slot; -1 if it has none. */
  slotOf(expert: number): number {
    return this.#slotOf[expert] ?? -1;
  }

  /** Gives all experts of a group slots at once, others than those of `kept`; returns what has to be loaded. */
  admit(group: readonly number[], kept: readonly number[] = []): ExpertMiss[] {
    const held = new Set([...group, ...kept]);
    invariant(held.size <= this.slots, 'a group fits into the slots');
    const missing = group.filter((expert) => this.slotOf(expert) < 0);
    if (missing.length === 0) return [];
    const free = this.#leastUsed(held, missing.length);
    return missing.map((expert, i) => {
      const slot = free[i] as number;
      this.drop(this.#experts[slot] as number);
      this.#experts[slot] = expert;
      this.#slotOf[expert] = slot;
      return { expert, slot };
    });
  }

  /** Forgets an expert whose slot does not hold it. */
  drop(expert: number): void {
    const slot = this.slotOf(expert);
    if (slot < 0) return;
    this.#slotOf[expert] = -1;
    this.#experts[slot] = -1;
  }

  /** Empties all slots. */
  clear(): void {
    this.#slotOf.fill(-1);
    this.#experts.fill(-1);
  }

  /** So many slots without held experts: empty ones, then those of the least used. */
  #leastUsed(held: ReadonlySet<number>, count: number): number[] {
    const score = (slot: number) => {
      const expert = this.#experts[slot] as number;
      return expert < 0 ? -1 : this.#scores.of(expert);
    };
    const open = [...this.#experts.keys()].filter((slot) => !held.has(this.#experts[slot] as number));
    return open.sort((a, b) => score(a) - score(b)).slice(0, count);
  }
}

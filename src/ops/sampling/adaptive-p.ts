import type { Candidates } from './candidates.ts';
import { largestOf, weightOf } from './exponential-sum.ts';

/** Constants of llama.cpp's `adaptive-p`. */
const WIDTH = 0.3;
const PEAK = 5;
const SHARPNESS = 10;
const MAX_DECAY = 0.99;

/**
 * Draws tokens whose probability is near a target ("adaptive-p", as in llama.cpp): the target of a token compensates for the
 * exponentially weighted mean probability of those before it.
 */
export class AdaptiveP {
  readonly #target: number;
  readonly #decay: number;
  #sum: number;
  #weight: number;
  /** The candidates' probabilities before, by id. */
  readonly #before = new Map<number, number>();

  /** `target` is a probability; a negative one leaves the candidates as they are. */
  constructor(target: number, decay: number) {
    this.#target = target;
    this.#decay = Math.min(MAX_DECAY, Math.max(0, decay));
    this.#weight = 1 / (1 - this.#decay);
    this.#sum = target * this.#weight;
  }

  /** Replaces the candidates' logits. */
  apply({ ids, keys, count }: Candidates, logits: Float32Array): void {
    if (this.#target < 0) return;
    const largest = largestOf(keys, count);
    let total = 0;
    for (let i = 0; i < count; i++) total += weightOf(keys[i] as number, largest);
    const target = clamp(2 * clamp(this.#target) - this.#sum / this.#weight);
    this.#before.clear();
    for (let i = 0; i < count; i++) {
      const probability = weightOf(keys[i] as number, largest) / total;
      const id = ids[i] as number;
      this.#before.set(id, probability);
      const distance = Math.abs(probability - target) / WIDTH;
      logits[id] = PEAK - (SHARPNESS * distance * distance) / (1 + distance);
    }
  }

  accept(id: number): void {
    const probability = this.#before.get(id);
    if (probability === undefined) return;
    this.#sum = probability + this.#decay * this.#sum;
    this.#weight = 1 + this.#decay * this.#weight;
  }
}

function clamp(value: number): number {
  return Math.max(0, Math.min(1, value));
}

import { SAMPLING_WORD } from '../sampling-row.ts';
import type { SamplingScratch } from '../sampling-scratch.ts';

/** Adds the row's biases to the logits of their tokens; ids outside the vocabulary are passed over. */
export function addLogitBias({ logits, words, floats }: SamplingScratch): void {
  const count = words[SAMPLING_WORD.biasCount] as number;
  for (let i = 0, at: number = SAMPLING_WORD.biases; i < count; i++, at += 2) {
    const id = words[at] as number;
    if (id >= 0 && id < logits.length) logits[id] = (logits[id] as number) + (floats[at + 1] as number);
  }
}

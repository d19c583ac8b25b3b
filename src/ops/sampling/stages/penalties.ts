import type { SamplingScratch } from '../sampling-scratch.ts';

/** What recent tokens are charged; see `SamplingParameters`. */
export interface Penalties {
  readonly repeat: number;
  readonly frequency: number;
  readonly presence: number;
}

/**
 * Lowers the logits of the tokens in `history[start .. end)`: first the repeat penalty divides a positive and multiplies a
 * negative logit (Keskar et al. 2019), then `frequency` is subtracted for each occurrence and `presence` once.
 */
export function penalize(
  { logits, occurrences }: SamplingScratch,
  history: Int32Array,
  range: { readonly start: number; readonly end: number },
  penalties: Penalties,
): void {
  for (let i = range.start; i < range.end; i++) {
    const id = history[i] as number;
    if (id >= 0 && id < logits.length) occurrences[id] = (occurrences[id] as number) + 1;
  }
  for (let i = range.start; i < range.end; i++) {
    const id = history[i] as number;
    const times = occurrences[id] ?? 0;
    if (times === 0) continue;
    occurrences[id] = 0;
    const logit = logits[id] as number;
    const repeated = logit > 0 ? logit / penalties.repeat : logit * penalties.repeat;
    logits[id] = repeated - times * penalties.frequency - penalties.presence;
  }
}

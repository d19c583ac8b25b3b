/**
 * What stands in a token's place where none can be chosen: `unsound` where the model's own logits say nothing (see
 * `areSound`), `forbidden` where mask and bias leave none of those that there are. Both are below zero, so that a step queued
 * behind takes neither for an id: it embeds zeros, and penalties pass over it.
 */
export const NO_TOKEN = { unsound: -1, forbidden: -2 } as const;

const EXPONENT = 0x7f80_0000;
const LOWEST_EXPONENT = 0x0080_0000;

/** True for logits that mean something: none is NaN or Infinity, and one at least is above -Infinity. */
export function areSound(logits: Float32Array): boolean {
  const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length);
  let suspicion = 0;
  // The sign becomes set by an exponent of ones alone, that of NaN and the infinities: no branch for any number.
  for (let i = 0; i < bits.length; i++) suspicion |= ((bits[i] as number) & EXPONENT) + LOWEST_EXPONENT;
  return suspicion >= 0 || areSoundWithInfinities(logits);
}

function areSoundWithInfinities(logits: Float32Array): boolean {
  let hasNumber = false;
  for (const logit of logits) {
    if (Number.isNaN(logit) || logit === Infinity) return false;
    if (logit !== -Infinity) hasNumber = true;
  }
  return hasNumber;
}

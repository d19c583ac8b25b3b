/**
 * Written instead of a token if none can be sampled: `nonFinite` if the model's own logits are invalid (see `areValidLogits`),
 * `forbidden` if mask and bias leave no token. Both are negative, so that a step queued behind does not take them for
 * ids: it embeds zeros, and penalties ignore them.
 */
export const NO_TOKEN = { nonFinite: -1, forbidden: -2 } as const;

const EXPONENT = 0x7f80_0000;
const LOWEST_EXPONENT = 0x0080_0000;

/** True for valid logits: none is NaN or Infinity, and at least one is above -Infinity. */
export function areValidLogits(logits: Float32Array): boolean {
  const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length);
  let suspicion = 0;
  // The sign bit becomes set if all exponent bits are, as in NaN and the infinities: this avoids a branch per number.
  for (let i = 0; i < bits.length; i++) suspicion |= ((bits[i] as number) & EXPONENT) + LOWEST_EXPONENT;
  return suspicion >= 0 || areValidWithInfinities(logits);
}

function areValidWithInfinities(logits: Float32Array): boolean {
  let hasNumber = false;
  for (const logit of logits) {
    if (Number.isNaN(logit) || logit === Infinity) return false;
    if (logit !== -Infinity) hasNumber = true;
  }
  return hasNumber;
}

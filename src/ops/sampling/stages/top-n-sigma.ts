/**
 * Forbids the tokens whose logit is more than `n` standard deviations below the largest (Tang et al. 2024, "Top-nσ"). Mean and
 * deviation are those of all tokens that can be chosen.
 */
export function topNSigma(logits: Float32Array, n: number): void {
  let count = 0;
  let sum = 0;
  let largest = -Infinity;
  for (const logit of logits) {
    if (logit === -Infinity) continue;
    count++;
    sum += logit;
    if (logit > largest) largest = logit;
  }
  if (count === 0) return;
  const mean = sum / count;
  let squares = 0;
  for (const logit of logits) if (logit !== -Infinity) squares += (logit - mean) ** 2;
  const floor = largest - n * Math.sqrt(squares / count);
  for (let id = 0; id < logits.length; id++) if ((logits[id] as number) < floor) logits[id] = -Infinity;
}

/** The natural logarithm of the sum of the logits' exponentials, summed in f64. */
export function logSumExp(logits: Float32Array): number {
  let largest = -Infinity;
  for (const logit of logits) if (logit > largest) largest = logit;
  if (!Number.isFinite(largest)) return largest;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - largest);
  return largest + Math.log(sum);
}

/** A token with its natural log-probability, before any stage of the sampling chain unless the request says otherwise. */
export interface ScoredToken {
  readonly id: number;
  readonly logProbability: number;
}

/** A sampled token, with its log probability and the most likely tokens if requested. */
export interface SampledToken {
  readonly id: number;
  /** Its natural log probability; undefined if not requested. */
  readonly logProbability: number | undefined;
  /** The most likely tokens at its position, best first; empty if not requested. */
  readonly alternatives: readonly ScoredToken[];
  /** The log-probabilities of the ids that the request names; undefined if it names none. */
  readonly named?: readonly ScoredToken[] | undefined;
}

/** Decodes a row of the `sample` operator's report: pairs of (id as i32 bits, natural log), the sampled token first. */
export function readReport(report: Float32Array, alternatives: number): SampledToken {
  const ids = new Int32Array(report.buffer, report.byteOffset, report.length);
  const scored = (pair: number): ScoredToken => ({
    id: ids[2 * pair] as number,
    logProbability: report[2 * pair + 1] as number,
  });
  const { id, logProbability } = scored(0);
  return { id, logProbability, alternatives: Array.from({ length: alternatives }, (_, i) => scored(1 + i)) };
}

import { fail } from '../base/errors.ts';
import { MAX_LOG_PROBABILITIES, SamplingScratch } from '../ops/index.ts';
import { writeReport } from '../ops/sampling/sampling-report.ts';
import type { PositionLogits } from '../runtime/forced-logits.ts';
import { readReport, type SampledToken } from '../runtime/jobs/sampled-token.ts';

/** Options of scoring. */
export interface ScoreOptions {
  /** Most likely tokens that are told for each position (0 to 20). Default 0. */
  readonly alternatives?: number | undefined;
  /** Adapters that the ids go through, by name, with their scales. Default: as the model was opened. */
  readonly adapters?: ReadonlyMap<string, number> | undefined;
  /** Aborts with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** An id of a text with its natural log-probability behind those before it. */
export interface ScoredId extends SampledToken {
  readonly logProbability: number;
  /** How many tokens are at least as likely there, itself among them: 1 for the most likely one. */
  readonly rank: number;
}

/** Throws `INVALID_ARGUMENT`. */
export function alternativesOf({ alternatives = 0 }: ScoreOptions): number {
  if (Number.isInteger(alternatives) && alternatives >= 0 && alternatives <= MAX_LOG_PROBABILITIES) {
    return alternatives;
  }
  const expected = `a whole number from 0 to ${MAX_LOG_PROBABILITIES}`;
  return fail('INVALID_ARGUMENT', { name: 'alternatives', found: `${alternatives}`, expected });
}

/** Scores all ids but the first, from the logits at each position. */
export async function scoredIds(
  ids: readonly number[],
  positions: AsyncIterable<PositionLogits>,
  alternatives: number,
): Promise<ScoredId[]> {
  const report = new Float32Array(2 * (1 + alternatives));
  const scores: ScoredId[] = [];
  let scratch: SamplingScratch | undefined;
  for await (const { position, logits } of positions) {
    const id = ids[position + 1];
    if (id === undefined) break;
    scratch ??= new SamplingScratch(logits.length);
    writeReport({ report, logits, candidates: scratch.candidates }, id, alternatives);
    const { logProbability = Number.NaN, ...token } = readReport(report, alternatives);
    scores.push({ ...token, logProbability, rank: rankOf(logits, id) });
  }
  return scores;
}

function rankOf(logits: Float32Array, id: number): number {
  const own = logits[id] as number;
  let rank = 0;
  for (const logit of logits) if (logit >= own) rank++;
  return rank;
}

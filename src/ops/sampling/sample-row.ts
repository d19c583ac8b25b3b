import { largestOf } from './exponential-sum.ts';
import { areSound, NO_TOKEN } from './no-token.ts';
import { drawUniform } from './random.ts';
import { writeNothing, writeReport } from './sampling-report.ts';
import { SAMPLING_WORD } from './sampling-row.ts';
import type { SamplingScratch } from './sampling-scratch.ts';
import { addLogitBias } from './stages/logit-bias.ts';
import { forbid } from './stages/mask.ts';
import { minP } from './stages/min-p.ts';
import { penalize } from './stages/penalties.ts';
import { applyTemperature } from './stages/temperature.ts';
import { topK } from './stages/top-k.ts';
import { topP } from './stages/top-p.ts';
import { typical } from './stages/typical.ts';

/** What one output row is sampled from. */
export interface SampleRow {
  /** A logit for each token of the vocabulary; not changed. */
  readonly logits: Float32Array;
  /** The parameters as `writeSamplingRow` lays them out. */
  readonly row: Int32Array;
  /** The sequence's tokens, those at positions 0 to `position` at least. */
  readonly history: Int32Array;
  /** The sequence's mask, `maskWords` of the vocabulary; read where the row asks for it. */
  readonly mask: Int32Array;
  /** The position of the row's own token; the draw depends on it and on the seed alone. */
  readonly position: number;
  readonly scratch: SamplingScratch;
  /** f32 [2 * (1 + alternatives)]; see `SampleOp`. Left as it is where the row asks for no report. */
  readonly report: Float32Array;
}

/**
 * The meaning of the `sample` operator: the chosen token of a row. The stages run in the order that `SamplingParameters`
 * states, each over what the one before it left, with probabilities that sum to 1 again. Bias and penalties round logits
 * to f32. Tokens with a logit of -Infinity are never chosen. Where none can be, `NO_TOKEN` says why: logits that are not
 * `areSound` give nothing, whatever the stages would leave. The draw takes the first token, by ascending id, whose cumulated
 * probability exceeds `drawUniform(seed, position)`.
 */
export function sampleRow(of: SampleRow): number {
  const { scratch } = of;
  scratch.words.set(
    of.row.length === scratch.words.length ? of.row : of.row.subarray(0, scratch.words.length),
  );
  const alternatives = scratch.words[SAMPLING_WORD.logProbabilities] as number;
  if (!areSound(of.logits)) {
    if (alternatives >= 0) writeNothing(of.report, NO_TOKEN.unsound);
    return NO_TOKEN.unsound;
  }
  const logits = adjust(of);
  const temperature = scratch.floats[SAMPLING_WORD.temperature] as number;
  const token = temperature > 0 ? draw(of, logits, temperature) : greedy(logits);
  if (alternatives >= 0) writeReport({ ...of, candidates: scratch.candidates }, token, alternatives);
  return token;
}

/** The logits after mask, bias and penalties: the row's own where none is asked for, else a changed copy. */
function adjust({ logits, history, mask, position, scratch }: SampleRow): Float32Array {
  const { words, floats } = scratch;
  const repeat = floats[SAMPLING_WORD.repeatPenalty] as number;
  const frequency = floats[SAMPLING_WORD.frequencyPenalty] as number;
  const presence = floats[SAMPLING_WORD.presencePenalty] as number;
  const window = words[SAMPLING_WORD.penaltyWindow] as number;
  const penalized = window !== 0 && (repeat !== 1 || frequency !== 0 || presence !== 0);
  const masked = words[SAMPLING_WORD.masked] !== 0;
  if (!penalized && !masked && words[SAMPLING_WORD.biasCount] === 0) return logits;
  scratch.logits.set(logits);
  if (masked) forbid(scratch.logits, mask);
  addLogitBias(scratch);
  if (penalized) {
    const end = position + 1;
    const start = window < 0 ? 0 : Math.max(0, end - window);
    penalize(scratch, history, { start, end }, { repeat, frequency, presence });
  }
  return scratch.logits;
}

/** The token with the largest logit, the lowest id of several. */
function greedy(logits: Float32Array): number {
  const largest = largestOf(logits, logits.length);
  return largest === -Infinity ? NO_TOKEN.forbidden : logits.indexOf(largest);
}

function draw({ position, scratch }: SampleRow, logits: Float32Array, temperature: number): number {
  const { words, floats, candidates } = scratch;
  const typicalP = floats[SAMPLING_WORD.typicalP] as number;
  const topPSum = floats[SAMPLING_WORD.topP] as number;
  const minPFraction = floats[SAMPLING_WORD.minP] as number;
  topK(candidates, logits, words[SAMPLING_WORD.topK] as number);
  if (candidates.count === 0) return NO_TOKEN.forbidden;
  if (typicalP < 1) typical(candidates, logits, typicalP);
  if (topPSum < 1) topP(candidates, topPSum);
  if (minPFraction > 0) minP(candidates, minPFraction);
  const total = applyTemperature(candidates, logits, temperature);
  const seedLow = words[SAMPLING_WORD.seedLow] as number;
  const seedHigh = words[SAMPLING_WORD.seedHigh] as number;
  return pick(candidates, drawUniform(seedLow, seedHigh, position) * total);
}

/** The first candidate by id at which the cumulated weights pass `goal`. */
function pick({ ids, keys, count }: SamplingScratch['candidates'], goal: number): number {
  let chosen = 0;
  for (let i = 0, sum = 0; i < count; i++) {
    const weight = keys[i] as number;
    if (weight === 0) continue;
    chosen = ids[i] as number;
    sum += weight;
    if (sum > goal) break;
  }
  return chosen;
}

import { type BlockMaxima, MAXIMA_BLOCK } from './block-maxima.ts';
import { adjustLogits, type RowLogits } from './adjust-logits.ts';
import { pick, weigh } from './draw.ts';
import { largestOf } from './exponential-sum.ts';
import { areValidLogits, NO_TOKEN } from './no-token.ts';
import { drawUniform } from './random.ts';
import { writeNothing, writeReport } from './sampling-report.ts';
import { NUMBER_ROWS, SAMPLING_WORD } from './sampling-row.ts';

/** The inputs from which one output row is sampled. */
export interface SampleRow extends RowLogits {
  /** The parameters in the layout of `writeSamplingRow`. */
  readonly row: Int32Array;
  /** f32 [2 * (1 + alternatives)]; see `SampleOp`. Unchanged if the row does not ask for a report. */
  readonly report: Float32Array;
  /** Those of the logits, from a device that finds them faster; the result is the same without. */
  readonly maxima?: BlockMaxima | undefined;
}

/**
 * The definition of the `sample` operator: samples the token of a row. The stages run in the order stated by
 * `SamplingParameters`, each on the result of the one before, with probabilities renormalized. Bias and penalties round
 * logits to f32. Tokens with a logit of -Infinity are never sampled. If none can be, `NO_TOKEN` says why; logits that
 * are not `areValidLogits` give no token, whatever the stages would leave. The result is the first token, by ascending id,
 * whose cumulative probability exceeds `drawUniform(seed, position)`.
 */
export function sampleRow(of: SampleRow): number {
  const { scratch } = of;
  scratch.words.set(
    of.row.length === scratch.words.length ? of.row : of.row.subarray(0, scratch.words.length),
  );
  const alternatives = scratch.words[SAMPLING_WORD.logProbabilities] as number;
  if (of.maxima?.hasSpecial !== false && !areValidLogits(of.logits)) {
    if (alternatives >= 0) writeNothing(of.report, NO_TOKEN.nonFinite);
    return NO_TOKEN.nonFinite;
  }
  const logits = adjustLogits(of);
  const temperature = scratch.floats[SAMPLING_WORD.temperature] as number;
  const maxima = logits === of.logits ? of.maxima : undefined;
  const token = temperature > 0 ? draw(of, { logits, maxima }, temperature) : greedy(logits, maxima);
  if (alternatives >= 0) writeReport({ ...of, candidates: scratch.candidates }, token, alternatives);
  return token;
}

/** The token with the largest logit; the lowest id among equals. */
function greedy(logits: Float32Array, maxima: BlockMaxima | undefined): number {
  const values = maxima?.values ?? logits;
  const largest = largestOf(values, values.length);
  if (largest === -Infinity) return NO_TOKEN.forbidden;
  return logits.indexOf(largest, maxima && MAXIMA_BLOCK * maxima.values.indexOf(largest));
}

/** The stages in order, with the positions of their values in a row. */
const DRAW_STAGES = NUMBER_ROWS.flatMap(([name, { stage, word }]) =>
  stage ? [{ ...stage, word, at: SAMPLING_WORD[name], beside: SAMPLING_WORD[stage.beside ?? name] }] : [],
);

/** What changes the temperature, likewise. */
const TEMPERING = NUMBER_ROWS.flatMap(([name, { temper }]) =>
  temper ? [{ ...temper, at: SAMPLING_WORD[name], beside: SAMPLING_WORD[temper.beside] }] : [],
);

function draw(
  { position, scratch }: SampleRow,
  { logits, maxima }: Pick<SampleRow, 'logits' | 'maxima'>,
  temperature: number,
): number {
  const { words, floats, candidates } = scratch;
  const seedLow = words[SAMPLING_WORD.seedLow] as number;
  const seedHigh = words[SAMPLING_WORD.seedHigh] as number;
  const uniform = (changed: number) => drawUniform(seedLow ^ changed, seedHigh, position);
  for (const { run, neutral, word, at, beside } of DRAW_STAGES) {
    const value = (word === 'f32' ? floats : words)[at] as number;
    if (value === neutral) continue;
    const context = { beside: floats[beside] as number, temperature, minKeep: 0, uniform, maxima };
    run(candidates, logits, value, context);
    if (candidates.count === 0) return NO_TOKEN.forbidden;
  }
  let own = temperature;
  for (const { run, at, beside } of TEMPERING) {
    const value = floats[at] as number;
    if (value > 0)
      own = run(candidates, value, { beside: floats[beside] as number, temperature, minKeep: 0, uniform });
  }
  const total = weigh(candidates, logits, own);
  return candidates.ids[pick(candidates, uniform(0) * total)] as number;
}

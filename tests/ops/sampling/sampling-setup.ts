import {
  type BlockMaxima,
  DEFAULT_SAMPLING,
  maskWords,
  SAMPLING_ROW_WORDS,
  type SamplingParameters,
  SamplingScratch,
  sampleRow,
  writeSamplingRow,
} from '../../../src/ops/index.ts';
import { seededRandom } from '../../support/random.ts';

/** Every stage at its neutral value. */
export const NEUTRAL: SamplingParameters = { ...DEFAULT_SAMPLING, temperature: 1, topK: 0, topP: 1, minP: 0 };

/** Logits spread over about ten units, some of them equal. */
export function someLogits(count: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  return Float32Array.from({ length: count }, (_, i) => {
    const value = 10 * random() - 5;
    return i % 5 === 0 ? Math.round(value) : value;
  });
}

export interface Sampling {
  readonly logits: Float32Array;
  readonly parameters: Partial<SamplingParameters>;
  readonly history?: readonly number[];
  readonly position?: number;
  readonly scratch?: SamplingScratch;
  readonly report?: Float32Array;
  readonly maxima?: BlockMaxima;
}

/** Samples one row; the scratch keeps the candidates it drew from. */
export function sampleOne(of: Sampling): { token: number; scratch: SamplingScratch } {
  const { logits, history = [0], scratch = new SamplingScratch(logits.length) } = of;
  const row = new Int32Array(SAMPLING_ROW_WORDS);
  writeSamplingRow({ ...NEUTRAL, ...of.parameters }, row);
  const position = of.position ?? history.length - 1;
  const report = of.report ?? new Float32Array(2);
  const token = sampleRow({
    logits,
    row,
    history: Int32Array.from(history),
    mask: new Int32Array(maskWords(logits.length)),
    position,
    scratch,
    report,
    maxima: of.maxima,
  });
  return { token, scratch };
}

/** The candidates that were left, by id, with their probabilities. */
export function distributionOf({ candidates }: SamplingScratch): Map<number, number> {
  const { ids, keys, count } = candidates;
  const weights = [...keys.subarray(0, count)];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return new Map(weights.map((weight, i) => [ids[i] as number, weight / total]));
}

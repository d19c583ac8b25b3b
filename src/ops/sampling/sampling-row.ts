import type { Candidates, StageContext } from './candidates.ts';
import { minP } from './stages/min-p.ts';
import { dynamicTemperature } from './stages/dynamic-temperature.ts';
import { topK } from './stages/top-k.ts';
import { topNSigma } from './stages/top-n-sigma.ts';
import { topP } from './stages/top-p.ts';
import { typical } from './stages/typical.ts';
import { xtc } from './stages/xtc.ts';

/**
 * How a sequence's tokens are sampled. The stages run in this order, each skipped at its neutral value: mask, logit bias,
 * penalties, DRY, top-n-sigma, top-k, typical, top-p, min-p, XTC, temperature (dynamic or not), draw. A temperature of 0 takes the
 * most likely token after mask, bias, penalties and DRY.
 */
export interface SamplingParameters {
  /** Divides the logits before the draw; 0, or anything below a normal f32, is greedy. */
  readonly temperature: number;
  /** Keeps the k most likely tokens; 0 keeps all. */
  readonly topK: number;
  /** Keeps the fewest most likely tokens whose probabilities reach this sum; 1 keeps all (Holtzman et al. 2020). */
  readonly topP: number;
  /** Keeps tokens at least this fraction as likely as the most likely one; 0 keeps all (Nguyen et al. 2024). */
  readonly minP: number;
  /**
   * Keeps the tokens whose surprise is closest to the expected one, up to this sum of probabilities; 1 keeps all
   * (Meister et al. 2023).
   */
  readonly typicalP: number;
  /**
   * Keeps the tokens whose logit is at most this many standard deviations below the largest; 0 or less keeps all (Tang
   * et al. 2024).
   */
  readonly topNSigma: number;
  /** The probability with which XTC drops the most likely candidates of a token; 0 disables it. */
  readonly xtcProbability: number;
  /** XTC drops all candidates with at least this probability except the least likely of them. */
  readonly xtcThreshold: number;
  /** How far the entropy of the candidates moves the temperature up or down; 0 disables it. */
  readonly dynatempRange: number;
  /** The exponent that is applied to the normalized entropy. */
  readonly dynatempExponent: number;
  /** Divides positive and multiplies negative logits of recent tokens; 1 disables it (Keskar et al. 2019). */
  readonly repeatPenalty: number;
  /** Subtracted once for each recent occurrence; 0 disables it. */
  readonly frequencyPenalty: number;
  /** Subtracted once from each token that occurred recently; 0 disables it. */
  readonly presencePenalty: number;
  /** Number of recent tokens that the penalties consider; 0 none, -1 the whole sequence. */
  readonly penaltyWindow: number;
  /** The random number depends on the seed and the position alone. An integer below 2^53. */
  readonly seed: number;
  /** Number of most likely tokens reported with their log probabilities besides the sampled one; -1 reports nothing. */
  readonly logProbabilities: number;
  /** Added to the logits of individual tokens; -Infinity forbids one. At most `MAX_LOGIT_BIASES`. */
  readonly logitBias: ReadonlyMap<number, number>;
  /** Subtracted from the logits of individual tokens after the other penalties (`dryPenalties`). At most `MAX_DRY_PENALTIES`. */
  readonly dryPenalties: ReadonlyMap<number, number>;
  /** Whether only tokens of the sequence's mask can be sampled. */
  readonly masked: boolean;
}

/** Maximum tokens reported besides the sampled one. */
export const MAX_LOG_PROBABILITIES = 20;

/** Maximum biased tokens of a row. */
export const MAX_LOGIT_BIASES = 300;

/** Maximum tokens of a row that DRY penalizes: those whose repetition would be longest. */
export const MAX_DRY_PENALTIES = 256;

/** The largest integer in a parameter row. */
export const MAX_WORD = 2 ** 31 - 1;

/** The valid range of a parameter. */
export interface Rule {
  readonly expected: string;
  allows(value: number): boolean;
}

/** Numbers. */
export function between(low: number, high: number): Rule {
  return {
    expected: `a number from ${low} to ${high}`,
    allows: (value) => value >= low && value <= high,
  };
}

/** Whole numbers. */
export function whole(low: number, high: number): Rule {
  return {
    expected: `a whole number from ${low} to ${high}`,
    allows: (value) => Number.isSafeInteger(value) && value >= low && value <= high,
  };
}

/** A stage that narrows the candidates by a parameter; `logits` are those after mask, bias and penalties. */
type DrawStage = (candidates: Candidates, logits: Float32Array, value: number, context: StageContext) => void;

/** The parameters that are a single number. */
export type SamplingNumberName = Exclude<
  keyof SamplingParameters,
  'seed' | 'logitBias' | 'dryPenalties' | 'masked'
>;

/** A numeric sampling parameter, as used everywhere. */
interface SamplingNumber {
  /** Its type in a parameter row. */
  readonly word: 'f32' | 'i32';
  /** The default. */
  readonly standard: number;
  readonly rule: Rule;
  /** Its stage, and the value at which that is skipped; the first stage is never skipped, because it creates the candidates. */
  readonly stage?: {
    readonly run: DrawStage;
    readonly neutral?: number;
    readonly beside?: SamplingNumberName;
  };
  /** How it changes the logits before the draw if it is above 0; not used without a draw. */
  readonly forbid?: (logits: Float32Array, value: number) => void;
  /** The temperature that results from it if it is above 0. */
  readonly temper?: {
    readonly run: (candidates: Candidates, value: number, context: StageContext) => number;
    readonly beside: SamplingNumberName;
  };
  /** The name of the flag's argument, and the help text of flag and field; undefined if these are defined elsewhere. */
  readonly help?: readonly [argument: string, text: string];
}

/**
 * The numbers, in the order of their stages. The command-line flag, the request field and the word that kernels read
 * are derived from each row.
 */
const SAMPLING_NUMBERS: Readonly<Record<SamplingNumberName, SamplingNumber>> = {
  temperature: {
    word: 'f32',
    standard: 0.8,
    rule: between(0, 100),
    help: ['value', 'divides the logits; 0 always takes the most likely token'],
  },
  topK: {
    word: 'i32',
    standard: 40,
    rule: whole(0, MAX_WORD),
    stage: { run: topK },
    help: ['count', 'keeps this many of the most likely tokens; 0 keeps all'],
  },
  typicalP: {
    word: 'f32',
    standard: 1,
    rule: between(0, 1),
    stage: { run: typical, neutral: 1 },
    help: ['sum', 'keeps the most typical tokens up to this cumulative probability; 1 keeps all'],
  },
  topP: {
    word: 'f32',
    standard: 0.95,
    rule: between(0, 1),
    stage: { run: topP, neutral: 1 },
    help: ['sum', 'keeps the most likely tokens up to this cumulative probability; 1 keeps all'],
  },
  minP: {
    word: 'f32',
    standard: 0.05,
    rule: between(0, 1),
    stage: { run: minP, neutral: 0 },
    help: ['part', 'keeps tokens at least this fraction as likely as the most likely one; 0 keeps all'],
  },
  topNSigma: {
    word: 'f32',
    standard: 0,
    rule: between(-1, 100),
    forbid: topNSigma,
    help: [
      'deviations',
      'keeps tokens whose logit is within this many standard deviations of the maximum; 0 keeps all',
    ],
  },
  xtcProbability: {
    word: 'f32',
    standard: 0,
    rule: between(0, 1),
    stage: { run: xtc, neutral: 0, beside: 'xtcThreshold' },
    help: ['chance', 'with which XTC drops the top choices except the last; 0 disables it'],
  },
  xtcThreshold: {
    word: 'f32',
    standard: 0.1,
    rule: between(0, 1),
    help: ['probability', 'from which a token counts as a top choice for XTC'],
  },
  dynatempRange: {
    word: 'f32',
    standard: 0,
    rule: between(0, 100),
    temper: { run: dynamicTemperature, beside: 'dynatempExponent' },
    help: ['value', 'how far the entropy moves the temperature up or down; 0 disables it'],
  },
  dynatempExponent: {
    word: 'f32',
    standard: 1,
    rule: { expected: 'a number above 0, at most 100', allows: (value) => value > 0 && value <= 100 },
    help: ['power', 'exponent of the normalized entropy in the dynamic temperature'],
  },
  repeatPenalty: {
    word: 'f32',
    standard: 1,
    rule: { expected: 'a number above 0, at most 100', allows: (value) => value > 0 && value <= 100 },
    help: ['factor', 'makes recent tokens less likely; 1 disables it'],
  },
  frequencyPenalty: {
    word: 'f32',
    standard: 0,
    rule: between(-100, 100),
    help: ['value', 'subtracted from a logit for each recent occurrence'],
  },
  presencePenalty: {
    word: 'f32',
    standard: 0,
    rule: between(-100, 100),
    help: ['value', 'subtracted once from the logit of recent tokens'],
  },
  penaltyWindow: {
    word: 'i32',
    standard: 64,
    rule: whole(-1, MAX_WORD),
    help: ['tokens', 'number of recent tokens for the penalties; -1 for all'],
  },
  logProbabilities: { word: 'i32', standard: -1, rule: whole(-1, MAX_LOG_PROBABILITIES) },
};

/** The rows of `SAMPLING_NUMBERS` with their names, in order. */
export const NUMBER_ROWS = Object.entries(SAMPLING_NUMBERS) as readonly (readonly [
  SamplingNumberName,
  SamplingNumber,
])[];

/** A value for each number. */
function eachNumber<T>(
  of: (row: SamplingNumber, name: SamplingNumberName) => T,
): Readonly<Record<SamplingNumberName, T>> {
  const entries = NUMBER_ROWS.map(([name, row]) => [name, of(row, name)]);
  return Object.fromEntries(entries) as Record<SamplingNumberName, T>;
}

/** Common defaults of chat front ends. The caller chooses a new seed. */
export const DEFAULT_SAMPLING: SamplingParameters = {
  ...eachNumber(({ standard }) => standard),
  seed: 0,
  logitBias: new Map(),
  dryPenalties: new Map(),
  masked: false,
};

/** The valid range of each number. */
export const RULES: Readonly<Record<SamplingNumberName | 'seed', Rule>> = {
  ...eachNumber(({ rule }) => rule),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
};

const FIRST_OTHER = NUMBER_ROWS.length;

/**
 * The position of each value in a row, in words: first the numbers, f32 (as bits) or i32, then i32 words. `biasCount`
 * pairs of (id, f32 bits) follow from `biases` on, then `dryCount` such pairs.
 */
export const SAMPLING_WORD: Readonly<
  Record<SamplingNumberName | 'seedLow' | 'seedHigh' | 'biasCount' | 'dryCount' | 'masked' | 'biases', number>
> = {
  ...eachNumber((_, name) => NUMBER_ROWS.findIndex(([other]) => other === name)),
  seedLow: FIRST_OTHER,
  seedHigh: FIRST_OTHER + 1,
  biasCount: FIRST_OTHER + 2,
  dryCount: FIRST_OTHER + 3,
  masked: FIRST_OTHER + 4,
  biases: FIRST_OTHER + 5,
};

/** Masks start at multiples of this many words, so that a device can address each separately. */
const MASK_ALIGNMENT = 64;

/** Words of a mask: one bit per token, bit `id % 32` of word `id / 32`, and padding. */
export function maskWords(vocabulary: number): number {
  return MASK_ALIGNMENT * Math.ceil(vocabulary / (32 * MASK_ALIGNMENT));
}

/** Words (32 bits each) of a parameter row: the width of the `sample` operator's `parameters` tensor, type i32. */
export const SAMPLING_ROW_WORDS = SAMPLING_WORD.biases + 2 * (MAX_LOGIT_BIASES + MAX_DRY_PENALTIES);

/** The smallest normal f32: GPUs may flush smaller values to zero. */
const MIN_NORMAL = 2 ** -126;

/** Writes the parameters as a row of `SAMPLING_ROW_WORDS` words; returns the number of words in use, from the start. */
export function writeSamplingRow(parameters: SamplingParameters, row: Int32Array): number {
  const floats = new Float32Array(row.buffer, row.byteOffset, row.length);
  for (const [name, { word }] of NUMBER_ROWS) {
    (word === 'f32' ? floats : row)[SAMPLING_WORD[name]] = parameters[name];
  }
  if (parameters.temperature < MIN_NORMAL) floats[SAMPLING_WORD.temperature] = 0;
  row[SAMPLING_WORD.seedLow] = (parameters.seed % 2 ** 32) | 0;
  row[SAMPLING_WORD.seedHigh] = Math.floor(parameters.seed / 2 ** 32) | 0;
  row[SAMPLING_WORD.biasCount] = parameters.logitBias.size;
  row[SAMPLING_WORD.masked] = parameters.masked ? 1 : 0;
  let at: number = SAMPLING_WORD.biases;
  for (const [id, bias] of parameters.logitBias) {
    row[at++] = id;
    floats[at++] = bias;
  }
  return writeDryPenalties(row, parameters.dryPenalties);
}

/** Replaces a row's penalties of DRY; returns the number of words in use, from the start. */
export function writeDryPenalties(row: Int32Array, penalties: ReadonlyMap<number, number>): number {
  const floats = new Float32Array(row.buffer, row.byteOffset, row.length);
  row[SAMPLING_WORD.dryCount] = penalties.size;
  let at = SAMPLING_WORD.biases + 2 * (row[SAMPLING_WORD.biasCount] as number);
  for (const [id, penalty] of penalties) {
    row[at++] = id;
    floats[at++] = penalty;
  }
  return at;
}

/** Reads a row back. Values that were not representable in f32 come back rounded. */
export function readSamplingRow(row: Int32Array): SamplingParameters {
  const floats = new Float32Array(row.buffer, row.byteOffset, row.length);
  const word = (at: number) => row[at] as number;
  const biases = word(SAMPLING_WORD.biasCount);
  const pairs = (first: number, count: number) =>
    new Map(
      Array.from({ length: count }, (_, i): [number, number] => {
        const at = SAMPLING_WORD.biases + 2 * (first + i);
        return [word(at), floats[at + 1] as number];
      }),
    );
  return {
    ...eachNumber((of, name) => (of.word === 'f32' ? floats : row)[SAMPLING_WORD[name]] as number),
    seed: seedOf(row),
    masked: word(SAMPLING_WORD.masked) !== 0,
    logitBias: pairs(0, biases),
    dryPenalties: pairs(biases, word(SAMPLING_WORD.dryCount)),
  };
}

/** The seed in a row of parameters. */
export function seedOf(row: Int32Array): number {
  const word = (at: number) => (row[at] as number) >>> 0;
  return word(SAMPLING_WORD.seedLow) + word(SAMPLING_WORD.seedHigh) * 2 ** 32;
}

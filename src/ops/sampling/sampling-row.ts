/**
 * How a sequence's tokens are chosen. The stages run in this order, each skipped at its neutral value: mask, logit bias,
 * penalties, top-k, typical, top-p, min-p, temperature, draw. A temperature of 0 takes the most likely token after mask, bias
 * and penalties.
 */
export interface SamplingParameters {
  /** Divides the logits before the draw; 0, or less than a normal f32, is greedy. */
  readonly temperature: number;
  /** Keeps the k most likely tokens; 0 keeps all. */
  readonly topK: number;
  /** Keeps the fewest most likely tokens whose probabilities reach this sum; 1 keeps all (Holtzman et al. 2020). */
  readonly topP: number;
  /** Keeps tokens at least this fraction as likely as the most likely one; 0 keeps all (Nguyen et al. 2024). */
  readonly minP: number;
  /** Keeps the tokens closest to the expected surprise up to this sum; 1 keeps all (Meister et al. 2023). */
  readonly typicalP: number;
  /** Divides positive and multiplies negative logits of recent tokens; 1 is off (Keskar et al. 2019). */
  readonly repeatPenalty: number;
  /** Subtracted once for each recent occurrence; 0 is off. */
  readonly frequencyPenalty: number;
  /** Subtracted once for a token that occurred recently; 0 is off. */
  readonly presencePenalty: number;
  /** How many of the latest tokens the penalties see; 0 none, -1 the whole sequence. */
  readonly penaltyWindow: number;
  /** Draws depend on the seed and the position alone. An integer below 2^53. */
  readonly seed: number;
  /** Most likely tokens reported beside the choice with their log-probabilities; -1 reports not even the choice's. */
  readonly logProbabilities: number;
  /** Added to the logits of single tokens; -Infinity forbids one. At most `MAX_LOGIT_BIASES`. */
  readonly logitBias: ReadonlyMap<number, number>;
  /** Only tokens of the sequence's mask can be chosen. */
  readonly masked: boolean;
}

/** Most tokens reported beside a choice. */
export const MAX_LOG_PROBABILITIES = 20;

/** Most biased tokens a row holds. */
export const MAX_LOGIT_BIASES = 300;

/** What chat front ends use as a rule. A fresh seed is the caller's to choose. */
export const DEFAULT_SAMPLING: SamplingParameters = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  typicalP: 1,
  repeatPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  penaltyWindow: 64,
  seed: 0,
  logProbabilities: -1,
  logitBias: new Map(),
  masked: false,
};

/** The largest whole number a parameter row holds. */
export const LARGEST_WORD = 2 ** 31 - 1;

/** What a parameter may be. */
interface Rule {
  readonly expected: string;
  allows(value: number): boolean;
}

function between(low: number, high: number): Rule {
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

/** What each number may be. */
export const RULES: Readonly<Record<Exclude<keyof SamplingParameters, 'logitBias' | 'masked'>, Rule>> = {
  temperature: between(0, 100),
  topK: whole(0, LARGEST_WORD),
  topP: between(0, 1),
  minP: between(0, 1),
  typicalP: between(0, 1),
  repeatPenalty: { expected: 'a number above 0, at most 100', allows: (value) => value > 0 && value <= 100 },
  frequencyPenalty: between(-100, 100),
  presencePenalty: between(-100, 100),
  penaltyWindow: whole(-1, LARGEST_WORD),
  logProbabilities: whole(-1, MAX_LOG_PROBABILITIES),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
};

/**
 * Where each value stands in a row, in words: the first seven are f32 (their bits), the others i32. `biasCount` pairs of
 * (id, f32 bits) follow from `biases` on.
 */
export const SAMPLING_WORD = {
  temperature: 0,
  topP: 1,
  minP: 2,
  typicalP: 3,
  repeatPenalty: 4,
  frequencyPenalty: 5,
  presencePenalty: 6,
  topK: 7,
  penaltyWindow: 8,
  seedLow: 9,
  seedHigh: 10,
  logProbabilities: 11,
  biasCount: 12,
  masked: 13,
  biases: 14,
} as const;

const FLOATS = [
  'temperature',
  'topP',
  'minP',
  'typicalP',
  'repeatPenalty',
  'frequencyPenalty',
  'presencePenalty',
] as const;

/** A mask begins at a multiple of so many words, where a device can take it by itself. */
const MASK_ALIGNMENT = 64;

/** Words of a mask: a bit for each token, that of `id` being bit `id % 32` of word `id / 32`, and unused words. */
export function maskWords(vocabulary: number): number {
  return MASK_ALIGNMENT * Math.ceil(vocabulary / (32 * MASK_ALIGNMENT));
}

/** Words (32 bits each) of a parameter row: the width of the `sample` operator's `parameters` tensor, type i32. */
export const SAMPLING_ROW_WORDS = SAMPLING_WORD.biases + 2 * MAX_LOGIT_BIASES;

/** The least normal f32: GPUs may take what is smaller for zero. */
const LEAST_NORMAL = 2 ** -126;

/** Writes the parameters as a row of `SAMPLING_ROW_WORDS` words; gives the words in use, from the first on. */
export function writeSamplingRow(parameters: SamplingParameters, row: Int32Array): number {
  const floats = new Float32Array(row.buffer, row.byteOffset, row.length);
  for (const name of FLOATS) floats[SAMPLING_WORD[name]] = parameters[name];
  if (parameters.temperature < LEAST_NORMAL) floats[SAMPLING_WORD.temperature] = 0;
  row[SAMPLING_WORD.topK] = parameters.topK;
  row[SAMPLING_WORD.penaltyWindow] = parameters.penaltyWindow;
  row[SAMPLING_WORD.seedLow] = (parameters.seed % 2 ** 32) | 0;
  row[SAMPLING_WORD.seedHigh] = Math.floor(parameters.seed / 2 ** 32) | 0;
  row[SAMPLING_WORD.logProbabilities] = parameters.logProbabilities;
  row[SAMPLING_WORD.biasCount] = parameters.logitBias.size;
  row[SAMPLING_WORD.masked] = parameters.masked ? 1 : 0;
  let at: number = SAMPLING_WORD.biases;
  for (const [id, bias] of parameters.logitBias) {
    row[at++] = id;
    floats[at++] = bias;
  }
  return at;
}

/** Reads a row back. Values that were not representable in f32 come back rounded. */
export function readSamplingRow(row: Int32Array): SamplingParameters {
  const floats = new Float32Array(row.buffer, row.byteOffset, row.length);
  const float = (name: (typeof FLOATS)[number]) => floats[SAMPLING_WORD[name]] as number;
  const word = (at: number) => row[at] as number;
  const logitBias = new Map<number, number>();
  for (let i = 0, at: number = SAMPLING_WORD.biases; i < word(SAMPLING_WORD.biasCount); i++, at += 2) {
    logitBias.set(word(at), floats[at + 1] as number);
  }
  return {
    temperature: float('temperature'),
    topK: word(SAMPLING_WORD.topK),
    topP: float('topP'),
    minP: float('minP'),
    typicalP: float('typicalP'),
    repeatPenalty: float('repeatPenalty'),
    frequencyPenalty: float('frequencyPenalty'),
    presencePenalty: float('presencePenalty'),
    penaltyWindow: word(SAMPLING_WORD.penaltyWindow),
    seed: seedOf(row),
    logProbabilities: word(SAMPLING_WORD.logProbabilities),
    masked: word(SAMPLING_WORD.masked) !== 0,
    logitBias,
  };
}

/** The seed in a row of parameters. */
export function seedOf(row: Int32Array): number {
  const word = (at: number) => (row[at] as number) >>> 0;
  return word(SAMPLING_WORD.seedLow) + word(SAMPLING_WORD.seedHigh) * 2 ** 32;
}

import { fail } from '../../base/errors.ts';
import { MAX_LOG_PROBABILITIES, MAX_LOGIT_BIASES, type SamplingParameters } from './sampling-row.ts';

/** The largest whole number a parameter row holds. */
const LARGEST_WORD = 2 ** 31 - 1;

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

function whole(low: number, high: number): Rule {
  return {
    expected: `a whole number from ${low} to ${high}`,
    allows: (value) => Number.isSafeInteger(value) && value >= low && value <= high,
  };
}

const RULES: Readonly<Record<Exclude<keyof SamplingParameters, 'logitBias' | 'masked'>, Rule>> = {
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

/** Throws `INVALID_ARGUMENT` for the first parameter outside its range. */
export function validateSampling(parameters: SamplingParameters): void {
  for (const [name, rule] of Object.entries(RULES) as [keyof typeof RULES, Rule][]) {
    const value: unknown = parameters[name];
    if (typeof value !== 'number' || !rule.allows(value)) {
      fail('INVALID_ARGUMENT', { name, found: String(value), expected: rule.expected });
    }
  }
  validateBias(parameters.logitBias);
}

function validateBias(logitBias: ReadonlyMap<number, number>): void {
  const name = 'logitBias';
  if (logitBias.size > MAX_LOGIT_BIASES) {
    fail('INVALID_ARGUMENT', {
      name,
      found: `${logitBias.size} tokens`,
      expected: `at most ${MAX_LOGIT_BIASES} tokens`,
    });
  }
  const id = whole(0, LARGEST_WORD);
  for (const [token, bias] of logitBias) {
    if (!id.allows(token)) fail('INVALID_ARGUMENT', { name, found: `token ${token}`, expected: id.expected });
    if (Number.isNaN(bias)) {
      fail('INVALID_ARGUMENT', { name, found: `NaN for token ${token}`, expected: 'a number or -Infinity' });
    }
  }
}

import { fail } from '../../base/errors.ts';
import { MAX_WORD, MAX_LOGIT_BIASES, RULES, type SamplingParameters, whole } from './sampling-row.ts';

/** Throws `INVALID_ARGUMENT` for the first parameter outside its range. */
export function validateSampling(parameters: SamplingParameters): void {
  for (const [name, rule] of Object.entries(RULES) as [
    keyof typeof RULES,
    (typeof RULES)[keyof typeof RULES],
  ][]) {
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
  const id = whole(0, MAX_WORD);
  for (const [token, bias] of logitBias) {
    if (!id.allows(token)) fail('INVALID_ARGUMENT', { name, found: `token ${token}`, expected: id.expected });
    if (Number.isNaN(bias)) {
      fail('INVALID_ARGUMENT', { name, found: `NaN for token ${token}`, expected: 'a number or -Infinity' });
    }
  }
}

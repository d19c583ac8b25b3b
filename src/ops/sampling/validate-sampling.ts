import { fail } from '../../base/errors.ts';
import { HOST_RULES, type HostNumbers } from './host-sampling.ts';
import {
  MAX_WORD,
  MAX_LOGIT_BIASES,
  RULES,
  type Rule,
  type SamplingParameters,
  whole,
} from './sampling-row.ts';

/** Throws `INVALID_ARGUMENT` for the first parameter outside its range. */
export function validateSampling(parameters: SamplingParameters): void {
  validateNumbers({ ...parameters }, RULES);
  validateBias(parameters.logitBias);
}

/** Throws `INVALID_ARGUMENT` for the first parameter of the host outside its range. */
export function validateHostSampling(parameters: HostNumbers): void {
  validateNumbers({ ...parameters }, HOST_RULES);
}

function validateNumbers(
  values: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, Rule>>,
): void {
  for (const name in rules) {
    const { allows, expected } = rules[name] as Rule;
    const value = values[name];
    if (typeof value === 'number' && allows(value)) continue;
    fail('INVALID_ARGUMENT', { name, found: String(value), expected });
  }
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

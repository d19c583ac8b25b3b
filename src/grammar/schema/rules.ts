import type { Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';

/** The empty text. */
export const EMPTY_TEXT_RULE: Rule = { kind: 'sequence', parts: [] };

/** No text. */
export const NO_TEXT_RULE: Rule = { kind: 'choice', parts: [] };

/** A terminal. */
export function terminal(regex: Regex): Rule {
  return regex.kind === 'never' ? NO_TEXT_RULE : { kind: 'regex', regex };
}

/** A reference to a rule. */
export function reference(name: string): Rule {
  return { kind: 'reference', name };
}

/** The rules in sequence. */
export function sequenceRule(...parts: readonly Rule[]): Rule {
  if (parts.includes(NO_TEXT_RULE)) return NO_TEXT_RULE;
  const some = parts.filter((part) => part !== EMPTY_TEXT_RULE);
  return some.length === 1 && some[0]
    ? some[0]
    : some.length === 0
      ? EMPTY_TEXT_RULE
      : { kind: 'sequence', parts: some };
}

/** One of the alternatives. */
export function choiceRule(...parts: readonly Rule[]): Rule {
  const some = parts.filter((part) => part !== NO_TEXT_RULE);
  return some.length === 1 && some[0]
    ? some[0]
    : some.length === 0
      ? NO_TEXT_RULE
      : { kind: 'choice', parts: some };
}

/** `min` to `max` repetitions. */
export function repeatRule(part: Rule, min: number, max: number): Rule {
  if (max < min) return NO_TEXT_RULE;
  if (max === 0) return EMPTY_TEXT_RULE;
  return min === 1 && max === 1 ? part : { kind: 'repeat', part, min, max };
}

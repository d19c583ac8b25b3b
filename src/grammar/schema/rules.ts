import type { Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';

/** The empty text. */
export const NOTHING_MORE: Rule = { kind: 'sequence', parts: [] };

/** No text. */
export const NO_RULE: Rule = { kind: 'choice', parts: [] };

/** A terminal. */
export function terminal(regex: Regex): Rule {
  return regex.kind === 'never' ? NO_RULE : { kind: 'regex', regex };
}

/** A reference to a rule. */
export function reference(name: string): Rule {
  return { kind: 'reference', name };
}

/** The rules in sequence. */
export function inOrder(...parts: readonly Rule[]): Rule {
  if (parts.includes(NO_RULE)) return NO_RULE;
  const some = parts.filter((part) => part !== NOTHING_MORE);
  return some.length === 1 && some[0]
    ? some[0]
    : some.length === 0
      ? NOTHING_MORE
      : { kind: 'sequence', parts: some };
}

/** One of the alternatives. */
export function oneOf(...parts: readonly Rule[]): Rule {
  const some = parts.filter((part) => part !== NO_RULE);
  return some.length === 1 && some[0]
    ? some[0]
    : some.length === 0
      ? NO_RULE
      : { kind: 'choice', parts: some };
}

/** `min` to `max` repetitions. */
export function times(part: Rule, min: number, max: number): Rule {
  if (max < min) return NO_RULE;
  if (max === 0) return NOTHING_MORE;
  return min === 1 && max === 1 ? part : { kind: 'repeat', part, min, max };
}

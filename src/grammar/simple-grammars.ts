import type { Grammar } from './grammar.ts';
import { wholeRegex } from './regex/pattern.ts';

/** Texts that match a pattern (ECMAScript's, with the flag `u`) as a whole. Throws the errors of `wholeRegex`. */
export function regexGrammar(pattern: string): Grammar {
  return { root: 'root', rules: new Map([['root', { kind: 'regex', regex: wholeRegex(pattern) }]]) };
}

/** One of the texts. */
export function choiceGrammar(texts: readonly string[]): Grammar {
  const parts = texts.map((text) => ({ kind: 'text' as const, text }));
  return { root: 'root', rules: new Map([['root', { kind: 'regex', regex: { kind: 'choice', parts } }]]) };
}

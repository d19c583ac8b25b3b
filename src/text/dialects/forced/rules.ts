import type { Regex, Rule } from '../../../grammar/index.ts';

/** Any code point. */
export const ANY_CHARACTER: Regex = {
  kind: 'set',
  ranges: [
    [0, 0xd7ff],
    [0xe000, 0x10ffff],
  ],
};

/** Any text. */
export const ANY_TEXT: Regex = {
  kind: 'repeat',
  part: ANY_CHARACTER,
  min: 0,
  max: Number.POSITIVE_INFINITY,
};

/** The parts of markers that models have as single special tokens. If a vocabulary lacks one, it is matched as text. */
const SPECIAL =
  /<\|[^|<>]*\|>|<\|[\w"]+>|<[\w]+\|>|<\|"\|>|<｜[^｜<>]*｜>|｜DSML｜|\[\/?[A-Z_]+\]|<\/?[\w:.-]+>|\]<\]minimax\[>\[/g;

/** This text, in ordinary tokens. */
export function text(written: string): Rule {
  return { kind: 'regex', regex: { kind: 'text', text: written } };
}

/** Text of a regular language. */
export function regex(language: Regex): Rule {
  return { kind: 'regex', regex: language };
}

/** A marker: its special tokens as tokens, the rest as text. */
export function marker(written: string): Rule {
  const parts: Rule[] = [];
  let at = 0;
  for (const { 0: token, index } of written.matchAll(SPECIAL)) {
    if (index > at) parts.push(text(written.slice(at, index)));
    parts.push({ kind: 'token', text: token });
    at = index + token.length;
  }
  if (at < written.length) parts.push(text(written.slice(at)));
  return sequence(...parts);
}

/** The parts in sequence. */
export function sequence(...parts: readonly Rule[]): Rule {
  const [only] = parts;
  return only && parts.length === 1 ? only : { kind: 'sequence', parts };
}

/** One of the parts. */
export function choice(...parts: readonly Rule[]): Rule {
  const [only] = parts;
  return only && parts.length === 1 ? only : { kind: 'choice', parts };
}

/** The part or nothing. */
export function optional(part: Rule): Rule {
  return { kind: 'repeat', part, min: 0, max: 1 };
}

/** Any number of repetitions of the part. */
export function zeroOrMore(part: Rule): Rule {
  return { kind: 'repeat', part, min: 0, max: Number.POSITIVE_INFINITY };
}

/** The part once, or repeatedly if calls may be parallel; `between` separates the repetitions. */
export function repeatedCalls(part: Rule, isParallel: boolean, between?: Rule): Rule {
  if (!isParallel) return part;
  return sequence(part, zeroOrMore(between ? sequence(between, part) : part));
}

/** Text that contains none of these. */
export function without(markers: readonly string[]): Regex {
  if (markers.length === 0) return ANY_TEXT;
  const parts = markers.map((written): Regex => ({ kind: 'text', text: written }));
  const one: Regex = { kind: 'choice', parts };
  return { kind: 'not', part: { kind: 'sequence', parts: [ANY_TEXT, one, ANY_TEXT] } };
}

/** A nonnegative integer. */
export function number(): Rule {
  const digit: Regex = { kind: 'set', ranges: [[0x30, 0x39]] };
  return regex({ kind: 'repeat', part: digit, min: 1, max: 3 });
}

/** This many letters and digits. */
export function letters(length: number): Rule {
  const ranges = [
    [0x30, 0x39],
    [0x61, 0x7a],
  ] as const;
  return regex({ kind: 'repeat', part: { kind: 'set', ranges }, min: length, max: length });
}

/** An optional newline. */
export const LINE: Rule = optional(text('\n'));

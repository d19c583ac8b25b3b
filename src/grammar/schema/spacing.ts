import type { Regex } from '../regex/regex.ts';
import type { SchemaOptions } from './options.ts';
import { choice, EMPTY, optional, repeat, sequence, set, text } from './regexes.ts';

/** JSON's punctuation with the allowed whitespace around it. */
export interface Spacing {
  /** Before and after the whole text. */
  readonly around: Regex;
  /** An opening bracket. */
  open(bracket: string): Regex;
  /** A closing bracket after a member or item. */
  close(bracket: string): Regex;
  readonly comma: Regex;
  readonly colon: Regex;
}

const MAX_INDENTATION = 64;
const MAX_FLEXIBLE = 32;

const USUAL = optional(
  choice(text(' '), sequence(text('\n'), repeat(set('  ', '\t\t'), 0, MAX_INDENTATION))),
);
const FLEXIBLE = repeat(set('\t\n', '\r\r', '  '), 0, MAX_FLEXIBLE);

/** The whitespace of an option. */
export function spacingOf(whitespace: SchemaOptions['whitespace'] = 'usual'): Spacing {
  const [around, line, before, after] = {
    compact: [EMPTY, EMPTY, EMPTY, EMPTY],
    usual: [EMPTY, USUAL, EMPTY, optional(text(' '))],
    flexible: [FLEXIBLE, FLEXIBLE, FLEXIBLE, FLEXIBLE],
  }[whitespace] as [Regex, Regex, Regex, Regex];
  return {
    around,
    open: (bracket) => sequence(text(bracket), line),
    close: (bracket) => sequence(line, text(bracket)),
    comma: sequence(before, text(','), line),
    colon: sequence(before, text(':'), after),
  };
}

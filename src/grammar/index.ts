export type { Grammar, Rule } from './grammar.ts';
export type { Regex } from './regex/regex.ts';

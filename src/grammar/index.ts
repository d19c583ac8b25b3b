export { CompiledGrammar } from './compiled-grammar.ts';
export { Fuel, type FuelOptions } from './fuel.ts';
export type { Grammar, Rule } from './grammar.ts';
export { GrammarMatcher } from './grammar-matcher.ts';
export { matchesGrammar } from './matches-grammar.ts';
export type { Regex } from './regex/regex.ts';
export { isEmptyRegex, isSubsetRegex, matchesRegex, RegularLanguages } from './regex/regular-languages.ts';
export type { GrammarVocabulary } from './vocabulary.ts';

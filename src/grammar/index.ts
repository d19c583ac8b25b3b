export { Fuel, type FuelOptions } from './fuel.ts';
export type { Grammar, Rule } from './grammar.ts';
export type { Regex } from './regex/regex.ts';
export { isEmptyRegex, isSubsetRegex, matchesRegex, RegularLanguages } from './regex/regular-languages.ts';

import type { Regex } from '../regex/regex.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { both, choice, not, ofLength, text } from './regexes.ts';

/** Texts within length bounds that are in all of the languages. */
export interface TextRange {
  readonly kind: 'range';
  /** In code points. */
  readonly min: number;
  readonly max: number;
  readonly languages: readonly Regex[];
}

/** These texts. */
export interface TextList {
  readonly kind: 'list';
  readonly values: ReadonlySet<string>;
}

/** A set of texts. */
export type Texts = TextRange | TextList;

/** Every text. */
export const ANY_STRING: TextRange = { kind: 'range', min: 0, max: Infinity, languages: [] };

function lengthOf(value: string): number {
  let length = 0;
  for (const _ of value) length++;
  return length;
}

/** True when a set contains a text. */
export function hasText(set: Texts, value: string, languages: RegularLanguages): boolean {
  if (set.kind === 'list') return set.values.has(value);
  const length = lengthOf(value);
  return (
    length >= set.min &&
    length <= set.max &&
    set.languages.every((language) => languages.matches(language, value))
  );
}

/** The texts in both sets; undefined when there are obviously none. */
export function bothTexts(a: Texts, b: Texts, languages: RegularLanguages): Texts | undefined {
  if (a.kind === 'list' || b.kind === 'list') {
    const [list, other] = a.kind === 'list' ? [a, b] : [b as TextList, a];
    const values = [...list.values].filter((value) => hasText(other, value, languages));
    return values.length === 0 ? undefined : { kind: 'list', values: new Set(values) };
  }
  const min = Math.max(a.min, b.min);
  const max = Math.min(a.max, b.max);
  if (min > max) return undefined;
  return { kind: 'range', min, max, languages: [...new Set([...a.languages, ...b.languages])] };
}

/** The complement of a set, as sets that may overlap. */
export function otherTexts(set: Texts): Texts[] {
  if (set.kind === 'list') return [{ ...ANY_STRING, languages: [not(textsRegex(set))] }];
  const others: Texts[] = [];
  if (set.min > 0) others.push({ ...ANY_STRING, max: set.min - 1 });
  if (set.max < Infinity) others.push({ ...ANY_STRING, min: set.max + 1 });
  for (const language of set.languages) others.push({ ...ANY_STRING, languages: [not(language)] });
  return others;
}

/** The texts as a language, not as JSON. */
export function textsRegex(set: Texts): Regex {
  if (set.kind === 'list') return choice(...Array.from(set.values, text));
  return both(...set.languages, ofLength(set.min, set.max));
}

/** True when the set is empty. */
export function isWithoutText(set: Texts, languages: RegularLanguages): boolean {
  if (set.kind === 'list') return set.values.size === 0;
  return set.languages.length > 0 && languages.isEmpty(textsRegex(set));
}

/** A set of at most `most` texts as a list. */
export function listTexts(set: Texts, most: number, languages: RegularLanguages): TextList | undefined {
  if (set.kind === 'list') return set.values.size <= most ? set : undefined;
  if (set.languages.length === 0 && set.max > 0) return undefined;
  const values = languages.texts(textsRegex(set), most);
  return values && { kind: 'list', values: new Set(values) };
}

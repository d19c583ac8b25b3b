import type { RegularLanguages } from '../regex/regular-languages.ts';
import type { Regex } from '../regex/regex.ts';
import { both, not } from './regexes.ts';
import { allOf, isFalse, type MemberGroup, type Objects, type Term } from './shapes.ts';

/** The names that a set of objects lists, in order of appearance. */
export function namesOf(objects: Objects): Set<string> {
  const names = new Set<string>();
  for (const { named } of objects.groups) for (const name of named.keys()) names.add(name);
  for (const name of objects.required) names.add(name);
  for (const pair of objects.dependent) for (const name of pair) names.add(name);
  return names;
}

/** Adds what a group requires of the member with a name. */
function addTerms(terms: Term[], group: MemberGroup, name: string, languages: RegularLanguages): void {
  const own = group.named.get(name);
  if (own) terms.push(own);
  let isEvaluated = own !== undefined;
  for (const { language, term } of group.patterns) {
    if (!languages.matches(language, name)) continue;
    isEvaluated = true;
    terms.push(term);
  }
  if (!isEvaluated && group.additional) terms.push(group.additional);
}

/** What a set of objects requires of the member with a name; `names` is separate. */
export function memberTerm(objects: Objects, name: string, languages: RegularLanguages): Term {
  const terms: Term[] = [];
  for (const group of objects.groups) addTerms(terms, group, name, languages);
  return terms.length === 1 && terms[0] ? terms[0] : allOf(terms);
}

/** Names outside `names`, and what a set of objects requires of their members. */
export interface Cell {
  readonly language: Regex;
  readonly term: Term;
}

const MAX_CELLS = 64;

/**
 * Partitions the names in `language` that no `named` lists by what the groups require of them. Undefined when there are
 * more than 64 parts.
 */
export function cellsOf(objects: Objects, language: Regex, languages: RegularLanguages): Cell[] | undefined {
  let cells: { language: Regex; term: Term }[] = [{ language, term: allOf([]) }];
  for (const { patterns, additional } of objects.groups) {
    let open = cells.map((cell) => ({ ...cell, isEvaluated: false }));
    for (const pattern of patterns) {
      open = open.flatMap((cell) => {
        const inside = both(cell.language, pattern.language);
        if (languages.isEmpty(inside)) return [cell];
        const outside = both(cell.language, not(pattern.language));
        const within = { language: inside, term: allOf([cell.term, pattern.term]), isEvaluated: true };
        return languages.isEmpty(outside) ? [within] : [within, { ...cell, language: outside }];
      });
      if (open.length > MAX_CELLS) return undefined;
    }
    cells = open.map(({ language: own, term, isEvaluated }) => ({
      language: own,
      term: additional && !isEvaluated ? allOf([term, additional]) : term,
    }));
  }
  return cells.filter(({ term }) => !isFalse(term));
}

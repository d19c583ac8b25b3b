import { negation, type Terms } from './terms.ts';
import { memberTerm, namesOf } from './members.ts';
import {
  ANY_OBJECT,
  isFalse,
  type MemberGroup,
  type Objects,
  type Term,
  termOf,
  TRUE_TERM,
} from './shapes.ts';

/** The objects in both sets; undefined when there are obviously none. */
export function bothObjects(a: Objects, b: Objects, terms: Terms): Objects | undefined {
  const min = Math.max(a.min, b.min);
  const max = Math.min(a.max, b.max);
  const required = new Set([...a.required, ...b.required]);
  if (min > max || required.size > max) return undefined;
  const objects: Objects = {
    groups: [...new Set([...a.groups, ...b.groups])],
    required,
    names: [...new Set([...a.names, ...b.names])],
    min,
    max,
    dependent: [...new Set([...a.dependent, ...b.dependent])],
  };
  for (const name of required) {
    terms.fuel.spend(objects.groups.length);
    if (isFalse(memberTerm(objects, name, terms.languages))) return undefined;
  }
  return objects;
}

/** True when the set is known to contain no object. */
export function isWithoutObject(objects: Objects, terms: Terms): boolean {
  for (const name of objects.required) {
    const term = memberTerm(objects, name, terms.languages);
    if (term !== TRUE_TERM && terms.isNothing(term)) return true;
  }
  const isClosed = objects.groups.some(({ patterns, additional }) => {
    return patterns.length === 0 && additional !== undefined && isFalse(additional);
  });
  return isClosed && objects.min > 0 && namesOf(objects).size < objects.min;
}

/** All objects outside a set, as sets that may overlap; undefined when they cannot be expressed as sets. */
export function otherObjects(objects: Objects, terms: Terms): Objects[] | undefined {
  if (objects.names.some((term) => term !== TRUE_TERM)) return undefined;
  const others: Objects[] = [];
  if (objects.min > 0) others.push({ ...ANY_OBJECT, max: objects.min - 1 });
  if (objects.max < Infinity) others.push({ ...ANY_OBJECT, min: objects.max + 1 });
  for (const name of objects.required) others.push(withoutName(name, terms));
  for (const [name, needed] of objects.dependent) {
    others.push({ ...withoutName(needed, terms), required: new Set([name]) });
  }
  for (const group of objects.groups) {
    const own = otherMembers(group, objects.required, terms);
    if (!own) return undefined;
    others.push(...own);
  }
  return others;
}

/** Every object without a member of this name. */
export function withoutName(name: string, { document }: Terms): Objects {
  return withMember(name, termOf([document.constant(false)]));
}

function withMember(name: string, term: Term): Objects {
  return { ...ANY_OBJECT, groups: [{ named: new Map([[name, term]]), patterns: [], isSilent: true }] };
}

function otherMembers(
  group: MemberGroup,
  required: ReadonlySet<string>,
  terms: Terms,
): Objects[] | undefined {
  const { named, patterns, additional } = group;
  if (patterns.some(({ term }) => term !== TRUE_TERM)) return undefined;
  const others: Objects[] = [];
  for (const [name, term] of named) {
    if (term !== TRUE_TERM)
      others.push({ ...withMember(name, negation(term, terms)), required: new Set([name]) });
  }
  if (!additional || additional === TRUE_TERM) return others;
  // The number of members implies another one only when all named ones are present.
  const isCounted =
    isFalse(additional) && patterns.length === 0 && [...named.keys()].every((name) => required.has(name));
  if (!isCounted) return undefined;
  return [...others, { ...ANY_OBJECT, required: new Set(named.keys()), min: named.size + 1 }];
}

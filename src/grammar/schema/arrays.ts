import { negation, type Terms } from './terms.ts';
import {
  ANY_ARRAY,
  type Arrays,
  type ContainedItems,
  isFalse,
  itemAt,
  type ItemGroup,
  prefixLength,
  TRUE_TERM,
} from './shapes.ts';

/** The arrays in both sets; undefined when there are obviously none. */
export function bothArrays(a: Arrays, b: Arrays): Arrays | undefined {
  const groups = [...new Set([...a.groups, ...b.groups])];
  const min = Math.max(a.min, b.min);
  let max = Math.min(a.max, b.max);
  const unique = a.unique ?? b.unique;
  const arrays: Arrays = {
    groups,
    min,
    max,
    contains: [...new Set([...a.contains, ...b.contains])],
    ...(unique !== undefined && { unique }),
  };
  // An item that no value satisfies ends the array before it.
  const length = prefixLength(arrays);
  for (let at = 0; at <= length && at < max; at++) if (isFalse(itemAt(arrays, at))) max = at;
  return min > max ? undefined : { ...arrays, max };
}

/** True when the set is known to contain no array. */
export function isWithoutArray(arrays: Arrays, terms: Terms): boolean {
  const length = Math.min(arrays.min, prefixLength(arrays) + 1);
  for (let at = 0; at < length; at++) if (terms.isNothing(itemAt(arrays, at))) return true;
  return arrays.contains.some(({ term, min, max }) => min > max || (min > 0 && terms.isNothing(term)));
}

/** All arrays outside a set, as sets that may overlap; undefined when they cannot be expressed as sets. */
export function otherArrays(arrays: Arrays, terms: Terms): Arrays[] | undefined {
  if (arrays.unique !== undefined) return undefined;
  const others: Arrays[] = [];
  if (arrays.min > 0) others.push({ ...ANY_ARRAY, max: arrays.min - 1 });
  if (arrays.max < Infinity) others.push({ ...ANY_ARRAY, min: arrays.max + 1 });
  for (const group of arrays.groups) {
    const own = otherItems(group, terms);
    if (!own) return undefined;
    others.push(...own);
  }
  for (const { term, min, max } of arrays.contains) {
    if (min > 0) others.push(containing({ term, min: 0, max: min - 1 }, terms));
    if (max < Infinity) others.push(containing({ term, min: max + 1, max: Infinity }, terms));
  }
  return others;
}

/** The arrays that contain this many items of a kind; none of a kind means that all are of its negation. */
function containing(items: ContainedItems, terms: Terms): Arrays {
  if (items.max > 0) return { ...ANY_ARRAY, contains: [{ ...items, isSilent: true }] };
  return { ...ANY_ARRAY, groups: [{ prefix: [], rest: negation(items.term, terms), isSilent: true }] };
}

function otherItems({ prefix, rest }: ItemGroup, terms: Terms): Arrays[] | undefined {
  const others: Arrays[] = [];
  for (const [at, term] of prefix.entries()) {
    if (term === TRUE_TERM) continue;
    const before = Array.from({ length: at }, () => TRUE_TERM);
    const groups: ItemGroup[] = [{ prefix: [...before, negation(term, terms)], isSilent: true }];
    others.push({ ...ANY_ARRAY, min: at + 1, groups });
  }
  if (!rest || rest === TRUE_TERM) return others;
  if (isFalse(rest)) return [...others, { ...ANY_ARRAY, min: prefix.length + 1 }];
  if (prefix.length > 0) return undefined;
  return [...others, containing({ term: negation(rest, terms), min: 1, max: Infinity }, terms)];
}

import { ANY_NUMBER, intersectNumbers, type Numbers, complementNumbers } from './numbers.ts';
import { bothArrays, isWithoutArray, otherArrays } from './arrays.ts';
import { bothObjects, isWithoutObject, otherObjects } from './objects.ts';
import { ANY_ARRAY, ANY_OBJECT, ANYTHING, type Arrays, type Objects, type Values } from './shapes.ts';
import type { Terms } from './terms.ts';
import { ANY_STRING, bothTexts, isWithoutText, otherTexts, type Texts } from './strings.ts';

/** The set operations for one kind of value. */
export interface KindAlgebra<Set> {
  readonly any: Set;
  /** The intersection; undefined when it is obviously empty. */
  both(a: Set, b: Set, terms: Terms): Set | undefined;
  /** The complement, as sets that may overlap; undefined when it cannot be expressed as sets. */
  others(set: Set, terms: Terms): readonly Set[] | undefined;
  /** True when the set is known to be empty. */
  isEmpty(set: Set, terms: Terms): boolean;
}

/** Numbers. */
export const NUMBERS: KindAlgebra<Numbers> = {
  any: ANY_NUMBER,
  both: intersectNumbers,
  others: complementNumbers,
  isEmpty: () => false,
};

/** Strings. */
export const STRINGS: KindAlgebra<Texts> = {
  any: ANY_STRING,
  both: (a, b, { languages }) => bothTexts(a, b, languages),
  others: otherTexts,
  isEmpty: (set, { languages }) => isWithoutText(set, languages),
};

/** Arrays. */
export const ARRAYS: KindAlgebra<Arrays> = {
  any: ANY_ARRAY,
  both: bothArrays,
  others: otherArrays,
  isEmpty: isWithoutArray,
};

/** Objects. */
export const OBJECTS: KindAlgebra<Objects> = {
  any: ANY_OBJECT,
  both: bothObjects,
  others: otherObjects,
  isEmpty: isWithoutObject,
};

const MAX_SETS = 4096;

/** The intersection of two unions. */
export function bothLists<Set>(
  kind: KindAlgebra<Set>,
  a: readonly Set[],
  b: readonly Set[],
  terms: Terms,
): readonly Set[] {
  if (a.length === 1 && a[0] === kind.any) return b;
  if (b.length === 1 && b[0] === kind.any) return a;
  terms.fuel.spend(a.length * b.length * 8);
  return limited(
    a.flatMap((one) => b.flatMap((other) => kind.both(one, other, terms) ?? [])),
    terms,
  );
}

function limited<Set>(sets: readonly Set[], { fuel }: Terms): readonly Set[] {
  if (sets.length > MAX_SETS) fuel.refuse(`it has more than ${MAX_SETS} alternatives`);
  return sets;
}

function eitherList<Set>(kind: KindAlgebra<Set>, lists: readonly (readonly Set[])[]): readonly Set[] {
  const all = new Set(lists.flat());
  return all.has(kind.any) ? [kind.any] : [...all];
}

/** The first union minus the second; undefined when it cannot be expressed as sets. */
export function minusList<Set>(
  kind: KindAlgebra<Set>,
  from: readonly Set[],
  what: readonly Set[],
  terms: Terms,
): readonly Set[] | undefined {
  if (what.includes(kind.any)) return [];
  let left = from;
  for (const set of what) {
    if (left.length === 0) return left;
    // Comparing decimals is slow.
    terms.fuel.spend(left.length * 128);
    const met = left.map((one) => meets(kind, one, set, terms));
    if (!met.includes(true)) continue;
    const others = kind.others(set, terms);
    if (!others) return undefined;
    left = limited(
      left.flatMap((one, at) =>
        met[at] ? others.flatMap((other) => kind.both(one, other, terms) ?? []) : [one],
      ),
      terms,
    );
  }
  return left;
}

function meets<Set>(kind: KindAlgebra<Set>, a: Set, b: Set, terms: Terms): boolean {
  const shared = a === kind.any ? b : b === kind.any ? a : kind.both(a, b, terms);
  return shared !== undefined && !kind.isEmpty(shared, terms);
}

/** The intersection of both sets. */
export function bothValues(a: Values, b: Values, terms: Terms): Values {
  if (a === ANYTHING) return b;
  if (b === ANYTHING) return a;
  return {
    words: new Set([...a.words].filter((word) => b.words.has(word))),
    numbers: bothLists(NUMBERS, a.numbers, b.numbers, terms),
    strings: bothLists(STRINGS, a.strings, b.strings, terms),
    arrays: bothLists(ARRAYS, a.arrays, b.arrays, terms),
    objects: bothLists(OBJECTS, a.objects, b.objects, terms),
  };
}

/** The union of the sets. With `annotates`, a subset of another set is kept, because it may have evaluated more. */
export function eitherValues(sets: readonly Values[], annotates = false): Values {
  const either = <Set>(kind: KindAlgebra<Set>, lists: readonly (readonly Set[])[]): readonly Set[] =>
    annotates ? [...new Set(lists.flat())] : eitherList(kind, lists);
  return {
    words: new Set(sets.flatMap(({ words }) => [...words])),
    numbers: eitherList(NUMBERS, joinedLists(sets.map(({ numbers }) => numbers))),
    strings: eitherList(STRINGS, joinedLists(sets.map(({ strings }) => strings))),
    arrays: either(
      ARRAYS,
      sets.map(({ arrays }) => arrays),
    ),
    objects: either(
      OBJECTS,
      sets.map(({ objects }) => objects),
    ),
  };
}

/** Merges lists of single values: an `anyOf` of a thousand constants is an enumeration. */
function joinedLists<Of extends Numbers | Texts>(
  lists: readonly (readonly Of[])[],
): readonly (readonly Of[])[] {
  const values = new Set<number | string>();
  const others: Of[] = [];
  for (const set of lists.flat()) {
    if (set.kind !== 'list') others.push(set);
    else for (const value of set.values) values.add(value);
  }
  return values.size === 0 ? [others] : [others, [{ kind: 'list', values } as unknown as Of]];
}

/** The first set minus the second; undefined when it cannot be expressed as sets. */
export function minusValues(from: Values, what: Values, terms: Terms): Values | undefined {
  const numbers = minusList(NUMBERS, from.numbers, what.numbers, terms);
  const strings = minusList(STRINGS, from.strings, what.strings, terms);
  const arrays = minusList(ARRAYS, from.arrays, what.arrays, terms);
  const objects = minusList(OBJECTS, from.objects, what.objects, terms);
  if (!numbers || !strings || !arrays || !objects) return undefined;
  const words = new Set([...from.words].filter((word) => !what.words.has(word)));
  return { words, numbers, strings, arrays, objects };
}

/** The JSON of a set's values, when they are all listed. */
export function listedValues({
  words,
  numbers,
  strings,
  arrays,
  objects,
}: Values): ReadonlySet<string> | undefined {
  if (arrays.length > 0 || objects.length > 0) return undefined;
  const listed = new Set<string>(words);
  for (const set of [...numbers, ...strings]) {
    if (set.kind !== 'list') return undefined;
    for (const value of set.values) listed.add(JSON.stringify(value));
  }
  return listed;
}

/** True when a set is known to be empty. */
export function isWithoutValue(values: Values, terms: Terms): boolean {
  return (
    values.words.size === 0 &&
    values.numbers.length === 0 &&
    values.strings.every((set) => STRINGS.isEmpty(set, terms)) &&
    values.arrays.every((set) => ARRAYS.isEmpty(set, terms)) &&
    values.objects.every((set) => OBJECTS.isEmpty(set, terms))
  );
}

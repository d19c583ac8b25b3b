import { ARRAYS, bothLists, type KindAlgebra, minusList, NUMBERS, OBJECTS, STRINGS } from './algebra.ts';
import { memberTerm } from './members.ts';
import type { Numbers } from './numbers.ts';
import type { Objects, Values, Word } from './shapes.ts';
import type { Texts } from './strings.ts';
import type { Terms } from './terms.ts';

/** The values of a set that are in exactly one of the others; undefined when they cannot be expressed as sets. */
export function oneOfValues(base: Values, each: readonly Values[], terms: Terms): Values | undefined {
  const numbers = oneOfListed(
    NUMBERS,
    base.numbers,
    each.map((values) => values.numbers),
    terms,
  );
  const strings = oneOfListed(
    STRINGS,
    base.strings,
    each.map((values) => values.strings),
    terms,
  );
  const arrays = oneOfSets(
    ARRAYS,
    base.arrays,
    each.map((values) => values.arrays),
    terms,
  );
  const objects = oneOfObjects(
    base.objects,
    each.map((values) => values.objects),
    terms,
  );
  if (!numbers || !strings || !arrays || !objects) return undefined;
  const words = [...base.words].filter(
    (word: Word) => each.filter((values) => values.words.has(word)).length === 1,
  );
  return { words: new Set(words), numbers, strings, arrays, objects };
}

function oneOfSets<Set>(
  kind: KindAlgebra<Set>,
  base: readonly Set[],
  each: readonly (readonly Set[])[],
  terms: Terms,
): readonly Set[] | undefined {
  const found: Set[] = [];
  for (const [at, own] of each.entries()) {
    let left: readonly Set[] | undefined = bothLists(kind, base, own, terms);
    if (left.length === 0) continue;
    for (const [other, what] of each.entries()) {
      if (other !== at && left && left.length > 0) left = minusList(kind, left, what, terms);
    }
    if (!left) return undefined;
    found.push(...left);
  }
  return found;
}

/** When all values are listed: those that occur in exactly one list. */
function oneOfListed<Of extends Numbers | Texts>(
  kind: KindAlgebra<Of>,
  base: readonly Of[],
  each: readonly (readonly Of[])[],
  terms: Terms,
): readonly Of[] | undefined {
  const seen = new Map<number | string, number>();
  for (const [at, own] of each.entries()) {
    for (const set of own) {
      if (set.kind !== 'list') return oneOfSets(kind, base, each, terms);
      for (const value of set.values) seen.set(value, seen.has(value) && seen.get(value) !== at ? -1 : at);
    }
  }
  const values = [...seen.keys()].filter((value) => seen.get(value) !== -1);
  if (values.length === 0) return [];
  return bothLists(kind, base, [{ kind: 'list', values: new Set(values) } as unknown as Of], terms);
}

/** Objects that a member distinguishes need no comparison with each other. */
function oneOfObjects(
  base: readonly Objects[],
  each: readonly (readonly Objects[])[],
  terms: Terms,
): readonly Objects[] | undefined {
  const within = each.map((own) => bothLists(OBJECTS, base, own, terms));
  return areToldApart(within, terms) ? within.flat() : oneOfSets(OBJECTS, base, each, terms);
}

function areToldApart(each: readonly (readonly Objects[])[], terms: Terms): boolean {
  const first = each.find((own) => own.length > 0)?.[0];
  return [...(first?.required ?? [])].some((name) => {
    const seen = new Map<string, number>();
    return each.every((own, at) =>
      own.every((objects) => {
        terms.fuel.spend(4);
        const values = objects.required.has(name)
          ? terms.literals(memberTerm(objects, name, terms.languages))
          : undefined;
        if (!values) return false;
        for (const value of values) {
          if ((seen.get(value) ?? at) !== at) return false;
          seen.set(value, at);
        }
        return true;
      }),
    );
  });
}

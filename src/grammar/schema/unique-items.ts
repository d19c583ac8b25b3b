import type { RegularLanguages } from '../regex/regular-languages.ts';
import type { Expander } from './expand.ts';
import { countNumbers } from './numbers.ts';
import { refuse } from './options.ts';
import { type Arrays, itemAt, prefixLength, type Term, type Values } from './shapes.ts';
import { listTexts } from './strings.ts';
import { bothValues, isWithoutValue } from './algebra.ts';

const MAX_COUNTED = 1024;

/**
 * The maximum length of arrays with unique items: as long as a value is left for the next item, whatever came before.
 * Throws `SCHEMA_UNSUPPORTED` when items may be arrays or objects, and when what may follow depends on the items.
 */
export function uniqueLength(arrays: Arrays, pointer: string, expander: Expander): number {
  const prefix = Math.min(prefixLength(arrays), arrays.max);
  const before: Values[] = [];
  for (let at = 0; at < prefix; at++) {
    const values = scalarsOf(itemAt(arrays, at), pointer, expander);
    if (countValues(values, expander.languages) <= overlapping(values, before, expander)) {
      if (at >= arrays.min && countValues(values, expander.languages) === 0) return at;
      refuse('uniqueItems', pointer, `item ${at} may have nothing left that the items before it are not`);
    }
    before.push(values);
  }
  if (arrays.max <= prefix) return arrays.max;
  const values = scalarsOf(itemAt(arrays, prefix), pointer, expander);
  const count = countValues(values, expander.languages);
  if (count === Infinity) return Infinity;
  const length = prefix + Math.max(0, count - overlapping(values, before, expander));
  if (length < arrays.min && before.length > 0) {
    refuse('uniqueItems', pointer, 'the first items may leave too few values for the others');
  }
  return length;
}

function scalarsOf(term: Term, pointer: string, expander: Expander): Values {
  const values = expander.values(term);
  const isScalar = values.arrays.length === 0 && values.objects.length === 0;
  return isScalar ? values : refuse('uniqueItems', pointer, 'items may be arrays or objects');
}

function overlapping(values: Values, before: readonly Values[], expander: Expander): number {
  return before.filter((other) => !isWithoutValue(bothValues(values, other, expander), expander)).length;
}

/** A lower bound on the number of values: Infinity when it cannot be counted. */
function countValues({ words, numbers, strings }: Values, languages: RegularLanguages): number {
  // The sets of a union may overlap, so only the largest counts for certain.
  const counts = [
    ...numbers.map(countNumbers),
    ...strings.map((set) => listTexts(set, MAX_COUNTED, languages)?.values.size ?? Infinity),
  ];
  return (
    words.size +
    (numbers.length <= 1 && strings.length <= 1
      ? counts.reduce((sum, count) => sum + count, 0)
      : Math.max(...counts))
  );
}

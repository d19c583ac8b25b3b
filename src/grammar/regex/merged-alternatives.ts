import { Kind, type Language, type LanguageMaker } from './language-kinds.ts';

/** The counts of one part, with what follows it. */
interface Counts {
  readonly part: Language;
  readonly tail: Language;
  readonly ranges: { min: number; max: number }[];
}

/**
 * Merges the alternatives of an `or` that differ in one byte or count before the same rest: `ax|bx` becomes `[ab]x`,
 * `a{2,3}x|a{4}x` becomes `a{2,4}x`. Otherwise each way to parse a text with counts would be an alternative of its own.
 * Returns them in ascending order.
 */
export function mergedAlternatives(
  languages: LanguageMaker,
  alternatives: ReadonlySet<Language>,
): Language[] {
  const merged: Language[] = [];
  const sets = new Map<Language, number>();
  const counts = new Map<number, Counts>();
  for (const alternative of alternatives) {
    const isConcat = languages.kind(alternative) === Kind.concat;
    const head = isConcat ? languages.member(alternative, 1) : alternative;
    const tail = isConcat ? languages.member(alternative, 2) : languages.empty;
    if (languages.kind(head) === Kind.bytes) {
      const set = languages.member(head, 1);
      sets.set(tail, languages.sets.union(sets.get(tail) ?? languages.sets.none, set));
    } else if (languages.kind(head) === Kind.repeat) {
      addCount(counts, languages, head, tail);
    } else if (alternative !== languages.empty) {
      merged.push(alternative);
    }
  }
  for (const [tail, set] of sets) merged.push(languages.concat(languages.bytes(set), tail));
  const isEmptyAllowed = alternatives.has(languages.empty);
  for (const { part, tail, ranges } of counts.values()) {
    for (const { min, max } of joined(ranges, isEmptyAllowed && tail === languages.empty)) {
      merged.push(languages.concat(languages.repeat(part, min, max), tail));
    }
  }
  if (isEmptyAllowed && !merged.some((alternative) => languages.isNullable(alternative))) {
    merged.push(languages.empty);
  }
  return merged.sort((a, b) => a - b);
}

function addCount(
  counts: Map<number, Counts>,
  languages: LanguageMaker,
  head: Language,
  tail: Language,
): void {
  const part = languages.member(head, 1);
  const key = part * 2 ** 26 + tail;
  const range = { min: languages.member(head, 2), max: languages.member(head, 3) };
  const known = counts.get(key);
  if (known) known.ranges.push(range);
  else counts.set(key, { part, tail, ranges: [range] });
}

/** Merges adjacent ranges of counts; zero counts as one of them where the empty text is allowed anyway. */
function joined(
  ranges: readonly { min: number; max: number }[],
  hasZero: boolean,
): { min: number; max: number }[] {
  const sorted = [...ranges].sort((a, b) => a.min - b.min);
  const result: { min: number; max: number }[] = [];
  for (const { min, max } of sorted) {
    const last = result.at(-1);
    if (last && min <= last.max + 1) last.max = Math.max(last.max, max);
    else result.push({ min: hasZero && min === 1 ? 0 : min, max });
  }
  return result;
}

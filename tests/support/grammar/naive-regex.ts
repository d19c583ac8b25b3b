import type { Regex } from '../../../src/grammar/index.ts';
import fc from '../fast-check.ts';

/** Where a match that begins at `start` may end, by each operator's definition: slow, but obviously correct. */
export function endsOf(regex: Regex, text: readonly string[], start: number): Set<number> {
  switch (regex.kind) {
    case 'never':
      return new Set();
    case 'text': {
      const own = Array.from(regex.text);
      const isThere = own.every((character, i) => text[start + i] === character);
      return new Set(isThere ? [start + own.length] : []);
    }
    case 'set': {
      const point = text[start]?.codePointAt(0);
      const isIn =
        point !== undefined && regex.ranges.some(([first, last]) => first <= point && point <= last);
      return new Set(isIn ? [start + 1] : []);
    }
    case 'sequence':
      return regex.parts.reduce((starts, part) => after(part, text, starts), new Set([start]));
    case 'choice':
      return new Set(regex.parts.flatMap((part) => [...endsOf(part, text, start)]));
    case 'both':
      return new Set(
        endsFrom(text, start).filter((end) =>
          regex.parts.every((part) => endsOf(part, text, start).has(end)),
        ),
      );
    case 'not': {
      const inside = endsOf(regex.part, text, start);
      return new Set(endsFrom(text, start).filter((end) => !inside.has(end)));
    }
    case 'repeat':
      return repeated(regex, text, start);
    case 'multiple':
      return new Set(
        endsFrom(text, start).filter((end) => isMultiple(regex, text.slice(start, end).join(''))),
      );
  }
}

function repeated(regex: Regex & { kind: 'repeat' }, text: readonly string[], start: number): Set<number> {
  const ends = new Set<number>();
  let starts = new Set([start]);
  // More repetitions than characters only add empty ones.
  const rounds = Math.min(regex.max, regex.min + text.length + 1);
  for (let round = 0; round <= rounds; round++) {
    if (round >= regex.min) for (const at of starts) ends.add(at);
    starts = after(regex.part, text, starts);
  }
  return ends;
}

function after(part: Regex, text: readonly string[], starts: ReadonlySet<number>): Set<number> {
  return new Set([...starts].flatMap((at) => [...endsOf(part, text, at)]));
}

function endsFrom(text: readonly string[], start: number): number[] {
  return Array.from({ length: text.length - start + 1 }, (_, i) => start + i);
}

function isMultiple({ step, scale }: Regex & { kind: 'multiple' }, numeral: string): boolean {
  const [, whole, behind = ''] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(numeral) ?? [];
  if (whole === undefined) return false;
  const decimals = Math.max(scale, behind.length);
  const value = BigInt(whole + behind.padEnd(decimals, '0'));
  return value % (step * 10n ** BigInt(decimals - scale)) === 0n;
}

/** Characters of one to four bytes in UTF-8, and a digit. */
export const CHARACTERS = ['a', 'b', 'é', '€', '😀', '1'];

const character = fc.constantFrom(...CHARACTERS);

/** Small texts over few characters. */
export const smallText = fc.array(character, { maxLength: 6 }).map((parts) => parts.join(''));

const ranges = fc
  .uniqueArray(
    character.map((one) => one.codePointAt(0) ?? 0),
    { minLength: 1, maxLength: 3 },
  )
  .map((points) => points.sort((a, b) => a - b).map((point) => [point, point] as const));

/** Small regular expressions of every kind but `multiple`. */
export const smallRegex: fc.Arbitrary<Regex> = fc.letrec<{ regex: Regex }>((tie) => ({
  regex: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    smallText.map((text): Regex => ({ kind: 'text', text: Array.from(text).slice(0, 2).join('') })),
    ranges.map((own): Regex => ({ kind: 'set', ranges: own })),
    fc.constant<Regex>({ kind: 'set', ranges: [[0, 0x10ffff]] }),
    fc
      .tuple(
        fc.constantFrom('sequence', 'choice', 'both'),
        fc.array(tie('regex'), { minLength: 1, maxLength: 3 }),
      )
      .map(([kind, parts]): Regex => ({ kind, parts })),
    tie('regex').map((part): Regex => ({ kind: 'not', part })),
    fc
      .tuple(tie('regex'), fc.nat(3), fc.constantFrom(0, 1, 2, Infinity))
      .map(([part, min, more]): Regex => ({ kind: 'repeat', part, min, max: min + more })),
  ),
})).regex;

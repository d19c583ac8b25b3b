/** A loop's head, in the form that is unrolled: a count from zero up to a number or a name. */
const LOOP = /for \(var (\w+) = 0u; \1 < (\w+); \1\+\+\) \{/g;

/**
 * A text with its loops over numbers and over the names in `counts` written out: compilers that leave such loops keep the arrays
 * that they walk over in memory, which costs matrices of sums most of their speed.
 */
export function unrolled(text: string, counts: Readonly<Record<string, number>>): string {
  // The last loop of a text has no other inside.
  for (let rest = text; ;) {
    const loop = [...rest.matchAll(LOOP)].findLast(
      ([, , bound]) => countOf(bound as string, counts) !== undefined,
    );
    if (!loop) return rest;
    const [head, name, bound] = loop as unknown as [string, string, string];
    const start = loop.index + head.length;
    const end = endOfBlock(rest, start);
    const body = rest.slice(start, end);
    const rounds = Array.from({ length: countOf(bound, counts) ?? 0 }, (_, i) => {
      return `{${body.replace(new RegExp(`\\b${name}\\b`, 'g'), `${i}u`)}}`;
    });
    rest = rest.slice(0, loop.index) + rounds.join('\n') + rest.slice(end + 1);
  }
}

function countOf(bound: string, counts: Readonly<Record<string, number>>): number | undefined {
  return /^\d+u$/.test(bound) ? Number.parseInt(bound, 10) : counts[bound];
}

/** Where the block ends whose inside starts at `start`. */
function endOfBlock(text: string, start: number): number {
  let depth = 1;
  let at = start;
  for (; depth > 0; at++) {
    if (text[at] === '{') depth++;
    if (text[at] === '}') depth--;
  }
  return at - 1;
}

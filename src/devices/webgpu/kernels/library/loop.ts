/**
 * Writes a loop over `count` rounds, a number known when the text is made: `body` gives a round's statements, by the text of its
 * number.
 */
export type Loop = (name: string, count: number, body: (round: string) => string) => string;

/** A loop that stays one. */
const asLoop: Loop = (name, count, body) =>
  `for (var ${name} = 0u; ${name} < ${count}u; ${name}++) {${body(name)}}`;

/**
 * Every round by itself: compilers that leave such loops keep the arrays that they walk over in memory, which costs matrices of
 * sums most of their speed.
 */
const writtenOut: Loop = (_, count, body) =>
  Array.from({ length: count }, (_unused, round) => `{${body(`${round}u`)}}`).join('\n');

/** How kernels for a target write their short loops. */
export function loopFor({ unroll }: { readonly unroll: boolean }): Loop {
  return unroll ? writtenOut : asLoop;
}

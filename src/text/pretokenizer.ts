/** A rule that splits text: a regular expression's source, or runs of digits. */
export type SplitRule = string | DigitGroups;

/** Splits each run that `digits` matches into groups of three, counted from the right. */
export interface DigitGroups {
  readonly digits: string;
}

/**
 * Splits text into the words within which byte pairs are merged: the rules apply one after another, each to every piece
 * that the previous one left. A rule's matches become separate pieces, and so does the text between them.
 */
export class Pretokenizer {
  readonly #rules: readonly { readonly regex: RegExp; readonly grouped: boolean }[];

  constructor(rules: readonly SplitRule[]) {
    this.#rules = rules.map((rule) =>
      typeof rule === 'string'
        ? { regex: compile(rule), grouped: false }
        : { regex: compile(rule.digits), grouped: true },
    );
  }

  /** The words of a text in order, in batches, so that a long text need not be split at once. */
  words(text: string): Iterable<readonly string[]> {
    let pieces: Iterable<readonly string[]> = [[text]];
    for (const { regex, grouped } of this.#rules) pieces = cutFurther(pieces, regex, grouped);
    return pieces;
  }
}

/** Words per batch. */
const TOGETHER = 256;

/** In the models' patterns, `\s` is Unicode's White_Space, which differs from JavaScript's. */
function compile(source: string): RegExp {
  return new RegExp(source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}'), 'gu');
}

function* cutFurther(
  pieces: Iterable<readonly string[]>,
  regex: RegExp,
  grouped: boolean,
): Generator<readonly string[], void> {
  let cut: string[] = [];
  for (const some of pieces) {
    for (const piece of some) {
      let end = 0;
      for (;;) {
        // The expression may have been used elsewhere since.
        regex.lastIndex = end;
        const match = regex.exec(piece);
        if (match === null) break;
        if (match.index > end) cut.push(piece.slice(end, match.index));
        if (grouped) pushGroups(match[0], cut);
        else cut.push(match[0]);
        end = regex.lastIndex;
        if (cut.length < TOGETHER) continue;
        yield cut;
        cut = [];
      }
      if (end === 0) cut.push(piece);
      else if (end < piece.length) cut.push(piece.slice(end));
    }
  }
  yield cut;
}

function pushGroups(run: string, out: string[]): void {
  const digits = [...run];
  const first = digits.length % 3;
  if (first > 0) out.push(digits.slice(0, first).join(''));
  for (let i = first; i < digits.length; i += 3) out.push(digits.slice(i, i + 3).join(''));
}

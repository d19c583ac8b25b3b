/** A rule that cuts pieces of text further: a regular expression's source, or runs of digits. */
export type SplitRule = string | DigitGroups;

/** Cuts each run that `digits` matches into groups of three, counted from the right. */
export interface DigitGroups {
  readonly digits: string;
}

/**
 * Splits text into the words that byte-pair merges stay within: the rules one after the other, each on every piece that
 * the one before left. A rule's matches become pieces of their own, and so does what lies between them.
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

  split(text: string): string[] {
    let pieces = [text];
    for (const { regex, grouped } of this.#rules) {
      const cut: string[] = [];
      for (const piece of pieces) splitPiece(piece, regex, grouped, cut);
      pieces = cut;
    }
    return pieces;
  }
}

/** The models' patterns mean Unicode's White_Space by `\s`, which is not JavaScript's. */
function compile(source: string): RegExp {
  return new RegExp(source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}'), 'gu');
}

function splitPiece(piece: string, regex: RegExp, grouped: boolean, out: string[]): void {
  let end = 0;
  regex.lastIndex = 0;
  for (let match = regex.exec(piece); match !== null; match = regex.exec(piece)) {
    if (match.index > end) out.push(piece.slice(end, match.index));
    if (grouped) pushGroups(match[0], out);
    else out.push(match[0]);
    end = regex.lastIndex;
  }
  if (end === 0) out.push(piece);
  else if (end < piece.length) out.push(piece.slice(end));
}

function pushGroups(run: string, out: string[]): void {
  const digits = [...run];
  const first = digits.length % 3;
  if (first > 0) out.push(digits.slice(0, first).join(''));
  for (let i = first; i < digits.length; i += 3) out.push(digits.slice(i, i + 3).join(''));
}

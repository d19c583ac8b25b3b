import type { Steps } from '../base/turns.ts';
import { StringFinder } from './string-finder.ts';
import { TOKEN_TYPES } from './token-type.ts';
import type { Vocabulary } from './vocabulary.ts';

/** A stretch of plain text, or the id of a special token. */
export type Fragment = string | number;

/** Tokens that swallow the whitespace before or after them. */
export interface StripRules {
  readonly left: ReadonlySet<number>;
  readonly right: ReadonlySet<number>;
}

/** Tokens that are cut out between two pauses. A text is searched for one without a pause: some 10 ms where it has 16 MiB. */
const AT_ONCE = 1 << 10;

interface SpecialEntry {
  readonly id: number;
  readonly text: string;
  readonly onlyWhenParsed: boolean;
}

/** Entries of one text. */
type Spelled = readonly [SpecialEntry, ...SpecialEntry[]];

/**
 * Cuts special tokens out of text before anything else looks at it. Longer tokens (in UTF-8 bytes) claim their places
 * in the whole text first, as in llama.cpp.
 */
export class SpecialSplitter {
  /** Those of equal texts together, in the order of their ids. */
  readonly #entries: readonly Spelled[];
  /** Finds them by their indices. Some vocabularies have thousands, a text has few of them. */
  readonly #finder: StringFinder;
  readonly #strip: StripRules;

  constructor(vocabulary: Vocabulary, strip: StripRules) {
    this.#strip = strip;
    const entries = new Map<string, [SpecialEntry, ...SpecialEntry[]]>();
    for (let id = 0; id < vocabulary.size; id++) {
      const type = vocabulary.types[id];
      const onlyWhenParsed = type === TOKEN_TYPES.control || type === TOKEN_TYPES.unknown;
      if (!onlyWhenParsed && type !== TOKEN_TYPES.userDefined) continue;
      const text = vocabulary.text(id);
      const entry = { id, text, onlyWhenParsed };
      if (!entries.get(text)?.push(entry)) entries.set(text, [entry]);
    }
    const lengthOf = ([{ id }]: Spelled) => vocabulary.bytes(id).length;
    this.#entries = [...entries.values()].sort((a, b) => lengthOf(b) - lengthOf(a));
    this.#finder = new StringFinder(this.#entries.map(([{ text }]) => text));
  }

  /** `parseSpecial`: whether control and unknown tokens are cut out, too. */
  *split(text: string, parseSpecial: boolean): Steps<Fragment[]> {
    let fragments: Fragment[] = text === '' ? [] : [text];
    const found = yield* this.#finder.find(text);
    for (const index of [...found].sort((a, b) => a - b)) {
      const entry = this.#entries[index]?.find(({ onlyWhenParsed }) => parseSpecial || !onlyWhenParsed);
      if (!entry) continue;
      yield;
      const cut: Fragment[] = [];
      for (const fragment of fragments) {
        if (typeof fragment === 'number') cut.push(fragment);
        else yield* this.#cut(fragment, entry, cut);
      }
      fragments = cut;
    }
    return fragments;
  }

  *#cut(fragment: string, entry: SpecialEntry, out: Fragment[]): Steps {
    let rest = fragment;
    for (let found = 1; ; found++) {
      if (found % AT_ONCE === 0) yield;
      const at = rest.indexOf(entry.text);
      if (at < 0) break;
      const end = this.#strip.left.has(entry.id) ? trimmedEnd(rest, at) : at;
      if (end > 0) out.push(rest.slice(0, end));
      out.push(entry.id);
      rest = rest.slice(at + entry.text.length);
      if (this.#strip.right.has(entry.id)) rest = rest.replace(/^[\t-\r ]+/, '');
    }
    if (rest !== '') out.push(rest);
  }
}

/** Where the text before `end` ends without its whitespace; a loop, since a regular expression would be quadratic. */
function trimmedEnd(text: string, end: number): number {
  let at = end;
  while (at > 0 && ' \t\n\v\f\r'.includes(text[at - 1] as string)) at--;
  return at;
}

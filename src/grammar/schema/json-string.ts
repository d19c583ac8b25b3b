import type { Regex } from '../regex/regex.ts';
import { ANY_TEXT, both, choice, not, repeat, sequence, set, text } from './regexes.ts';

type Range = readonly [number, number];

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_RAW = 0x20;

/** How JSON.stringify writes a code point inside a string. */
function escapeOf(code: number): string {
  return JSON.stringify(String.fromCodePoint(code)).slice(1, -1);
}

/** Splits ranges into code points that are written literally and those that are escaped. */
function split(ranges: readonly Range[]): { raw: Range[]; escaped: number[] } {
  const raw: Range[] = [];
  const escaped: number[] = [];
  for (const [first, last] of ranges) {
    let from = first;
    for (; from <= last && from < FIRST_RAW; from++) escaped.push(from);
    for (const code of [QUOTE, BACKSLASH]) {
      if (code < from || code > last) continue;
      if (code > from) raw.push([from, code - 1]);
      escaped.push(code);
      from = code + 1;
    }
    if (from <= last) raw.push([from, last]);
  }
  return { raw, escaped };
}

const hex = set('09', 'AF', 'af');

/** A character in any of its JSON spellings, except lone surrogates. */
const anySpelling = choice(
  {
    kind: 'set',
    ranges: [
      [FIRST_RAW, QUOTE - 1],
      [QUOTE + 1, BACKSLASH - 1],
      [BACKSLASH + 1, 0xd7ff],
      [0xe000, 0x10ffff],
    ],
  },
  sequence(
    text('\\'),
    choice(
      set(...Array.from('"/\\bfnrt', (of) => of + of)),
      sequence(
        text('u'),
        choice(
          sequence(set('09', 'AC', 'EF', 'ac', 'ef'), hex, hex, hex),
          sequence(set('DD', 'dd'), set('07'), hex, hex),
          sequence(
            set('DD', 'dd'),
            set('89', 'AB', 'ab'),
            sequence(hex, hex, text('\\u')),
            sequence(set('DD', 'dd'), set('CF', 'cf'), hex, hex),
          ),
        ),
      ),
    ),
  ),
);

const quoted = (content: Regex): Regex => sequence(text('"'), content, text('"'));

/** Strings of this many characters, in any of their JSON spellings. */
export function anyStringRegex(min: number, max: number): Regex {
  return quoted(repeat(anySpelling, min, max));
}

/**
 * The strings that JSON.stringify writes for the texts of languages. A spelling determines its text, so intersections
 * carry over, and complements are taken among spellings. Languages that are the same object map to the same object.
 */
export class JsonSpelling {
  readonly #done = new Map<Regex, Regex>();

  /** A language's texts as JSON strings. */
  quoted(language: Regex): Regex {
    return quoted(this.#spelled(language));
  }

  #spelled(regex: Regex): Regex {
    let made = this.#done.get(regex);
    if (!made) {
      made = this.#spell(regex);
      this.#done.set(regex, made);
    }
    return made;
  }

  #spell(regex: Regex): Regex {
    switch (regex.kind) {
      case 'never':
      case 'multiple':
        return regex;
      case 'text':
        return text(JSON.stringify(regex.text).slice(1, -1));
      case 'set': {
        const { raw, escaped } = split(regex.ranges);
        const one: Regex = { kind: 'set', ranges: raw };
        return choice(...(raw.length > 0 ? [one] : []), ...escaped.map((code) => text(escapeOf(code))));
      }
      case 'sequence':
      case 'choice':
      case 'both':
        return { kind: regex.kind, parts: regex.parts.map((part) => this.#spelled(part)) };
      case 'repeat':
        return repeat(this.#spelled(regex.part), regex.min, regex.max);
      case 'not':
        return both(this.#spelled(ANY_TEXT), not(this.#spelled(regex.part)));
    }
  }
}

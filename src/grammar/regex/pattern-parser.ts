import {
  type CharacterRanges,
  CLASSES,
  NOT_A_LINE_END,
  normalizeRanges,
  complementRanges,
  UnicodeProperties,
} from './character-ranges.ts';
import type { Regex } from './regex.ts';

/** A part of a pattern: a language, or an assertion about the surrounding text. */
export type Pattern =
  | { readonly kind: 'regex'; readonly regex: Regex }
  /** `^` and `$`. */
  | { readonly kind: 'start' | 'end' }
  /** `\b` and `\B`. */
  | { readonly kind: 'boundary'; readonly isWanted: boolean }
  | { readonly kind: 'ahead'; readonly part: Pattern; readonly isWanted: boolean }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly part: Pattern; readonly min: number; readonly max: number };

/** Handles invalid patterns and patterns that no regular language expresses; both functions throw. */
export interface PatternProblems {
  invalid(reason: string): never;
  unsupported(what: string): never;
}

const LONGEST = 16_384;
const DEEPEST = 100;
const MAX_PROPERTIES = 16;

type Group = 'plain' | 'ahead' | 'not ahead';

/** A group that is still being parsed. */
interface OpenGroup {
  readonly kind: Group;
  readonly alternatives: Pattern[];
  parts: Pattern[];
}

const language = (regex: Regex): Pattern => ({ kind: 'regex', regex });

/** Combines the parts into one language if they all are languages. */
function together(kind: 'sequence' | 'choice', parts: readonly Pattern[]): Pattern {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const regexes = parts.flatMap((part) => (part.kind === 'regex' ? part.regex : []));
  if (regexes.length < parts.length) return { kind, parts };
  return language(regexes.length === 0 ? { kind: 'text', text: '' } : { kind, parts: regexes });
}

/** Parses one ECMA-262 pattern with the flag `u`; the web's legacy syntax is accepted where it is unambiguous. */
export class PatternParser {
  readonly #source: string;
  readonly #problems: PatternProblems;
  readonly #properties: UnicodeProperties;
  readonly #open: OpenGroup[] = [{ kind: 'plain', alternatives: [], parts: [] }];
  #at = 0;

  constructor(source: string, problems: PatternProblems, properties = new UnicodeProperties()) {
    this.#properties = properties;
    this.#source = source;
    this.#problems = problems;
    if (source.length > LONGEST)
      problems.unsupported(`a pattern of ${source.length} characters, at most ${LONGEST} are taken`);
    if (/\p{Surrogate}/u.test(source)) problems.invalid('the pattern has half of a surrogate pair');
  }

  /** Parses the whole pattern. */
  parse(): Pattern {
    while (this.#at < this.#source.length) this.#step();
    if (this.#open.length > 1) this.#problems.invalid('a group of the pattern has no end');
    return this.#close();
  }

  get #group(): OpenGroup {
    return this.#open.at(-1) as OpenGroup;
  }

  #step(): void {
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#openGroup();
      case ')': {
        if (this.#open.length === 1) this.#problems.invalid('the pattern has a ) without its (');
        const { kind } = this.#group;
        const part = this.#close();
        if (kind === 'plain') return this.#add(part);
        return this.#addAssertion({ kind: 'ahead', part, isWanted: kind === 'ahead' });
      }
      case '|':
        this.#group.alternatives.push(together('sequence', this.#merged(this.#group.parts)));
        this.#group.parts = [];
        return;
      case '^':
        return this.#addAssertion({ kind: 'start' });
      case '$':
        return this.#addAssertion({ kind: 'end' });
      case '*':
      case '+':
      case '?':
        return this.#problems.invalid(`there is nothing that ${character} could repeat`);
      case '.':
        return this.#addSet(NOT_A_LINE_END);
      case '[':
        return this.#addSet(this.#class());
      case '\\':
        return this.#escape();
      default:
        if (character === '{' && this.#counts(this.#at - 1))
          this.#problems.invalid('there is nothing that { could repeat');
        return this.#add(language({ kind: 'text', text: character }));
    }
  }

  /** The code point at the parser's position. */
  #next(): string {
    const code = this.#source.codePointAt(this.#at) ?? this.#problems.invalid('the pattern ends too early');
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source) ?? undefined;
    if (found) this.#at += found[0].length;
    return found;
  }

  #openGroup(): void {
    if (this.#open.length > DEEPEST) this.#problems.unsupported(`groups nested more than ${DEEPEST} deep`);
    let kind: Group = 'plain';
    if (this.#take('?')) {
      if (this.#take('=')) kind = 'ahead';
      else if (this.#take('!')) kind = 'not ahead';
      else if (this.#take('<=') || this.#take('<!')) this.#problems.unsupported('a lookbehind');
      else if (!this.#take(':') && !this.#match(/<[\p{L}_$][\p{L}\p{N}_$]*>/uy)) {
        this.#problems.unsupported('a group with flags or of an unknown kind');
      }
    }
    this.#open.push({ kind, alternatives: [], parts: [] });
  }

  #close(): Pattern {
    const { alternatives, parts } = this.#open.pop() as OpenGroup;
    return together('choice', [...alternatives, together('sequence', this.#merged(parts))]);
  }

  /** Merges adjacent languages. */
  #merged(parts: readonly Pattern[]): Pattern[] {
    if (parts.every(({ kind }) => kind === 'regex')) return [...parts];
    const merged: Pattern[] = [];
    let run: Pattern[] = [];
    for (const part of parts) {
      if (part.kind === 'regex') {
        run.push(part);
        continue;
      }
      if (run.length > 0) merged.push(together('sequence', run));
      run = [];
      merged.push(part);
    }
    if (run.length > 0) merged.push(together('sequence', run));
    return merged;
  }

  /** Adds a part with the quantifier after it. */
  #add(part: Pattern): void {
    const counts = this.#counts(this.#at);
    if (!counts) {
      this.#group.parts.push(part);
      return;
    }
    this.#at = counts.end;
    this.#take('?');
    if (/[*+?]/.test(this.#source[this.#at] ?? ''))
      this.#problems.invalid('a quantifier of the pattern is repeated');
    const { min, max } = counts;
    const isLanguage = part.kind === 'regex';
    const repeated: Pattern = isLanguage
      ? language({ kind: 'repeat', part: part.regex, min, max })
      : { kind: 'repeat', part, min, max };
    this.#group.parts.push(repeated);
  }

  #addAssertion(part: Pattern): void {
    if (this.#counts(this.#at)) this.#problems.invalid('an assertion of the pattern is repeated');
    this.#group.parts.push(part);
  }

  /** The quantifier at a position, if any. */
  #counts(at: number): { min: number; max: number; end: number } | undefined {
    const simple = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[this.#source[at] ?? ''];
    if (simple) return { min: simple[0] ?? 0, max: simple[1] ?? 0, end: at + 1 };
    const expression = /\{(\d+)(,(\d*))?\}/y;
    expression.lastIndex = at;
    const found = expression.exec(this.#source);
    if (!found) return undefined;
    const min = Number(found[1]);
    const max = found[2] === undefined ? min : found[3] === '' ? Infinity : Number(found[3]);
    if (min > max) this.#problems.invalid(`the counts of ${found[0]} are out of order`);
    return { min, max, end: expression.lastIndex };
  }

  #addSet(ranges: CharacterRanges): void {
    this.#add(language(ranges.length === 0 ? { kind: 'never' } : { kind: 'set', ranges }));
  }

  #escape(): void {
    const found = this.#match(/[bB]|[1-9]\d*|k<[^>]*>/y)?.[0];
    if (found === 'b' || found === 'B')
      return this.#addAssertion({ kind: 'boundary', isWanted: found === 'b' });
    if (found !== undefined) this.#problems.unsupported('a reference to what a group matched');
    this.#addSet(this.#escaped());
  }

  /** The characters of an escape whose backslash was consumed. */
  #escaped(): CharacterRanges {
    const named = this.#match(/([pP])\{([^}]*)\}/y);
    if (named) {
      const ranges = this.#property(named[2] ?? '');
      return named[1] === 'P' ? complementRanges(ranges) : ranges;
    }
    const coded = this.#match(/x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\}|c([a-z])|0(?!\d)/iy);
    if (coded) return this.#code(coded);
    const character = this.#next();
    const kind = character.toLowerCase();
    if (kind === 'd' || kind === 'w' || kind === 's') {
      return character === kind ? CLASSES[kind] : complementRanges(CLASSES[kind]);
    }
    const control = 'tnvfr'.indexOf(character);
    if (control >= 0) return one('\t\n\v\f\r'.charCodeAt(control));
    if (/[\p{L}\p{N}]/u.test(character)) this.#problems.invalid(`\\${character} is no escape of ECMA-262`);
    return one(character.codePointAt(0) ?? 0);
  }

  #code(found: RegExpExecArray): CharacterRanges {
    const [, byte, unit, point, control] = found;
    if (control !== undefined) return one(control.charCodeAt(0) % 32);
    const code = Number.parseInt(byte ?? unit ?? point ?? '0', 16);
    if (code > 0x10ffff) this.#problems.invalid(`${found[0]} is no code point`);
    const isHigh = unit !== undefined && code >= 0xd800 && code < 0xdc00;
    const low = isHigh ? this.#match(/\\u(d[c-f][\da-f]{2})/iy)?.[1] : undefined;
    if (low === undefined) return one(code);
    return one(0x10000 + (code - 0xd800) * 0x400 + Number.parseInt(low, 16) - 0xdc00);
  }

  #property(name: string): CharacterRanges {
    const ranges = this.#properties.ranges(name);
    if (this.#properties.size > MAX_PROPERTIES)
      this.#problems.unsupported('the use of so many Unicode properties');
    return ranges ?? this.#problems.invalid(`there is no Unicode property "${name}"`);
  }

  /** A bracketed character class whose opening bracket was consumed. */
  #class(): CharacterRanges {
    const isOther = this.#take('^');
    const ranges: (readonly [number, number])[] = [];
    while (!this.#take(']')) {
      const first = this.#classMember();
      const isRange = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']';
      const [from] = first;
      if (!isRange || first.length !== 1 || !from || from[0] !== from[1]) {
        ranges.push(...first);
        continue;
      }
      this.#at++;
      const second = this.#classMember();
      const [to] = second;
      if (second.length !== 1 || !to || to[0] !== to[1]) {
        ranges.push(...first, [0x2d, 0x2d], ...second);
        continue;
      }
      if (to[0] < from[0]) this.#problems.invalid('a range of a class of the pattern is out of order');
      ranges.push([from[0], to[0]]);
    }
    return isOther ? complementRanges(ranges) : normalizeRanges(ranges);
  }

  #classMember(): CharacterRanges {
    if (this.#at >= this.#source.length) this.#problems.invalid('a class of the pattern has no end');
    if (!this.#take('\\')) return one(this.#next().codePointAt(0) ?? 0);
    return this.#take('b') ? one(8) : this.#escaped();
  }
}

function one(code: number): CharacterRanges {
  return [[code, code]];
}

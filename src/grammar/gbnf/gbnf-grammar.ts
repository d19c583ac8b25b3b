import type { Grammar, Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import { GbnfReader } from './gbnf-reader.ts';

type Range = readonly [number, number];

const LAST_CHARACTER = 0x10ffff;
const DEEPEST = 200;
const NAME = /[a-zA-Z0-9-]+/y;
const NUMBER = /[0-9]+/y;

/**
 * Parses llama.cpp's GBNF: rules over literals, classes, `.`, groups, `| ? * + {m,n}`, comments, and tokens as `<[id]>`
 * or `<name>`, with `!` before them for any other token. Left recursion and counts of any size are supported. Throws
 * `GRAMMAR_INVALID` with line and column.
 */
export function gbnfGrammar(text: string): Grammar {
  const reader = new GbnfReader(text);
  const rules = new Map<string, Rule>();
  const parser = new RuleParser(reader);
  reader.skipSpace(true);
  while (!reader.isAtEnd) {
    const place = reader.place;
    const name = reader.match(NAME) ?? reader.refuse('expected the name of a rule');
    if (rules.has(name)) reader.refuse(`the rule ${name} is defined twice`, place);
    reader.skipSpace(false);
    reader.expect('::=');
    reader.skipSpace(true);
    rules.set(name, parser.alternatives(false));
    if (!reader.isAtEnd && !reader.sees('\n') && !reader.sees('\r'))
      reader.refuse('expected the end of the rule');
    reader.skipSpace(true);
  }
  for (const [name, place] of parser.named) {
    if (!rules.has(name)) reader.refuse(`there is no rule named ${name}`, place);
  }
  if (!rules.has('root')) reader.refuse('there is no rule named root');
  return { rules, root: 'root' };
}

/** Parses what follows `::=`. */
class RuleParser {
  /** Names that rules refer to, and the first place of each. */
  readonly named = new Map<string, number>();
  readonly #reader: GbnfReader;
  #depth = 0;

  constructor(reader: GbnfReader) {
    this.#reader = reader;
  }

  /** In a group, a rule continues over line ends. */
  alternatives(isGroup: boolean): Rule {
    if (++this.#depth > DEEPEST) this.#reader.refuse(`groups are nested more than ${DEEPEST} deep`);
    const parts = [this.#sequence(isGroup)];
    while (this.#reader.takes('|')) {
      this.#reader.skipSpace(true);
      parts.push(this.#sequence(isGroup));
    }
    this.#depth--;
    return parts.length === 1 ? (parts[0] as Rule) : { kind: 'choice', parts };
  }

  #sequence(isGroup: boolean): Rule {
    const parts: Rule[] = [];
    for (;;) {
      const item = this.#item();
      if (item) {
        this.#reader.skipSpace(isGroup);
        parts.push(item);
        continue;
      }
      const counts = this.#counts(isGroup);
      if (!counts) return { kind: 'sequence', parts };
      const part = parts.pop() ?? this.#reader.refuse('there is nothing to repeat');
      this.#reader.skipSpace(isGroup);
      parts.push({ kind: 'repeat', part, ...counts });
    }
  }

  #item(): Rule | undefined {
    const reader = this.#reader;
    const place = reader.place;
    const name = reader.match(NAME);
    if (name !== undefined) {
      if (!this.named.has(name)) this.named.set(name, place);
      return { kind: 'reference', name };
    }
    if (reader.takes('"')) return { kind: 'regex', regex: this.#literal() };
    if (reader.takes('[')) return { kind: 'regex', regex: this.#class() };
    if (reader.takes('.')) return { kind: 'regex', regex: { kind: 'set', ranges: [[0, LAST_CHARACTER]] } };
    if (reader.takes('(')) return this.#group();
    if (reader.takes('!')) return { kind: 'any-token', except: [this.#token()] };
    if (!reader.sees('<')) return undefined;
    const token = this.#token();
    return typeof token === 'number' ? { kind: 'token-id', id: token } : { kind: 'token', text: token };
  }

  #group(): Rule {
    this.#reader.skipSpace(true);
    const rule = this.alternatives(true);
    this.#reader.expect(')');
    return rule;
  }

  #literal(): Regex {
    const points: number[] = [];
    while (!this.#reader.takes('"')) points.push(this.#reader.character());
    return { kind: 'text', text: points.map((point) => String.fromCodePoint(point)).join('') };
  }

  #class(): Regex {
    const reader = this.#reader;
    const isNegated = reader.takes('^');
    const ranges: Range[] = [];
    while (!reader.takes(']')) {
      const place = reader.place;
      const first = reader.character();
      // A hyphen before the bracket is literal.
      const isRange = reader.sees('-') && !reader.sees('-]');
      if (isRange) reader.expect('-');
      const last = isRange ? reader.character() : first;
      if (last < first) reader.refuse('the range goes backwards', place);
      ranges.push([first, last]);
    }
    const joined = joinedRanges(ranges);
    return { kind: 'set', ranges: isNegated ? outside(joined) : joined };
  }

  /** The id of a token, or its spelling with the angle brackets. */
  #token(): number | string {
    const reader = this.#reader;
    if (reader.takes('<[')) {
      const id = this.#number();
      reader.expect(']>');
      return id;
    }
    return reader.match(/<[^>\r\n]*>/y) ?? reader.refuse('expected a token as <[id]> or <name>');
  }

  #counts(isGroup: boolean): { min: number; max: number } | undefined {
    const reader = this.#reader;
    if (reader.takes('*')) return { min: 0, max: Infinity };
    if (reader.takes('+')) return { min: 1, max: Infinity };
    if (reader.takes('?')) return { min: 0, max: 1 };
    const place = reader.place;
    if (!reader.takes('{')) return undefined;
    reader.skipSpace(isGroup);
    const min = this.#number();
    reader.skipSpace(isGroup);
    let max = min;
    if (reader.takes(',')) {
      reader.skipSpace(isGroup);
      max = reader.sees('}') ? Infinity : this.#number();
      reader.skipSpace(isGroup);
    }
    reader.expect('}');
    if (max < min) reader.refuse('the counts go backwards', place);
    return { min, max };
  }

  #number(): number {
    const place = this.#reader.place;
    const digits = this.#reader.match(NUMBER) ?? this.#reader.refuse('expected a number');
    const number = Number(digits);
    return Number.isSafeInteger(number) ? number : this.#reader.refuse('the number is too large', place);
  }
}

/** Ranges in ascending order, with adjacent ones merged. */
function joinedRanges(ranges: readonly Range[]): Range[] {
  const joined: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

function outside(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  let next = 0;
  for (const [first, last] of ranges) {
    if (first > next) result.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST_CHARACTER) result.push([next, LAST_CHARACTER]);
  return result;
}

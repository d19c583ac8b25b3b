import { fail } from '../../base/errors.ts';
import { CLASSES, complementRanges, type Spend, UnicodeProperties } from './character-ranges.ts';
import { type Pattern, PatternParser, type PatternProblems } from './pattern-parser.ts';
import type { Regex } from './regex.ts';

const NEVER: Regex = { kind: 'never' };
const EMPTY: Regex = { kind: 'text', text: '' };
const CHARACTER: Regex = { kind: 'set', ranges: complementRanges([]) };
const ANY: Regex = { kind: 'repeat', part: CHARACTER, min: 0, max: Infinity };
const NOT_EMPTY: Regex = { kind: 'repeat', part: CHARACTER, min: 1, max: Infinity };
const WORD: Regex = { kind: 'set', ranges: CLASSES.w };
const OTHER: Regex = { kind: 'set', ranges: complementRanges(CLASSES.w) };
const BEFORE_WORD: Regex = { kind: 'sequence', parts: [WORD, ANY] };
const MAX_UNROLLED = 16;
/** Repetitions with assertions are unrolled, and nested ones multiply. */
const MAX_STEPS = 20_000;

/** The remaining text, by what precedes it: nothing, a character of `\w`, or another character. */
interface Rest {
  readonly atStart: Regex;
  readonly afterWord: Regex;
  readonly afterOther: Regex;
}

const ANY_REST: Rest = { atStart: ANY, afterWord: ANY, afterOther: ANY };

const PROBLEMS: PatternProblems = {
  invalid: (reason) => fail('GRAMMAR_INVALID', { reason }),
  unsupported: (what) => fail('GRAMMAR_INVALID', { reason: `${what}: the pattern cannot be held to` }),
};

/**
 * The texts in which an ECMA-262 pattern (flag `u`) is found at any position, as `pattern` of JSON Schema means it.
 * `^`, `$`, `\b`, `\B` and lookaheads constrain the remaining text, so the pattern is processed from its end.
 * Lookbehinds, backreferences and assertions in unbounded repetitions are reported as unsupported.
 */
export function searchRegex(source: string, problems = PROBLEMS, properties?: UnicodeProperties): Regex {
  const pattern = new PatternParser(source, problems, properties).parse();
  const assertions = new Assertions(problems);
  return assertions.before({ kind: 'regex', regex: ANY }, assertions.before(pattern, ANY_REST)).atStart;
}

/** The texts that an ECMA-262 pattern (flag `u`) matches as a whole. */
export function wholeRegex(source: string, problems = PROBLEMS, spend?: Spend): Regex {
  const pattern = new PatternParser(source, problems, new UnicodeProperties(spend)).parse();
  return new Assertions(problems).before(pattern, { atStart: EMPTY, afterWord: EMPTY, afterOther: EMPTY })
    .atStart;
}

class Assertions {
  readonly #problems: PatternProblems;
  readonly #nullable = new Map<Regex, boolean>();
  #steps = 0;

  constructor(problems: PatternProblems) {
    this.#problems = problems;
  }

  /** The remaining text before a pattern, given the remaining text after it. */
  before(pattern: Pattern, rest: Rest): Rest {
    if (++this.#steps > MAX_STEPS)
      return this.#problems.unsupported('assertions in repetitions of repetitions that are as large');
    switch (pattern.kind) {
      case 'regex':
        return this.#beforeRegex(pattern.regex, rest);
      case 'start':
        return { atStart: rest.atStart, afterWord: NEVER, afterOther: NEVER };
      case 'end':
        return this.#each(rest, (of) => (this.#isNullable(of) ? EMPTY : NEVER));
      case 'boundary':
        return beforeBoundary(rest, pattern.isWanted);
      case 'ahead': {
        const ahead = this.before(pattern.part, ANY_REST);
        const limit = (of: Regex): Regex => (pattern.isWanted ? of : not(of));
        return {
          atStart: both(rest.atStart, limit(ahead.atStart)),
          afterWord: both(rest.afterWord, limit(ahead.afterWord)),
          afterOther: both(rest.afterOther, limit(ahead.afterOther)),
        };
      }
      case 'sequence':
        return pattern.parts.reduceRight((behind, part) => this.before(part, behind), rest);
      case 'choice':
        return either(pattern.parts.map((part) => this.before(part, rest)));
      case 'repeat':
        return this.#beforeRepeat(pattern.part, pattern.min, pattern.max, rest);
    }
  }

  #beforeRepeat(part: Pattern, min: number, max: number, rest: Rest): Rest {
    if (max > MAX_UNROLLED)
      return this.#problems.unsupported(`an assertion that is repeated more than ${MAX_UNROLLED} times`);
    let behind = rest;
    for (let count = min; count < max; count++) behind = either([rest, this.before(part, behind)]);
    for (let count = 0; count < min; count++) behind = this.before(part, behind);
    return behind;
  }

  #beforeRegex(regex: Regex, rest: Rest): Rest {
    const { afterWord, afterOther } = rest;
    if (rest.atStart === afterWord && afterWord === afterOther) {
      const made = sequence(regex, afterWord);
      return { atStart: made, afterWord: made, afterOther: made };
    }
    const isNullable = this.#isNullable(regex);
    const some = isNullable ? both(regex, NOT_EMPTY) : regex;
    const behind =
      afterWord === afterOther
        ? sequence(some, afterWord)
        : either2(
            sequence(both(some, { kind: 'sequence', parts: [ANY, WORD] }), afterWord),
            sequence(both(some, { kind: 'sequence', parts: [ANY, OTHER] }), afterOther),
          );
    return this.#each(rest, (of) => (isNullable ? either2(of, behind) : behind));
  }

  #each({ atStart, afterWord, afterOther }: Rest, change: (of: Regex) => Regex): Rest {
    const start = change(atStart);
    const word = afterWord === atStart ? start : change(afterWord);
    return {
      atStart: start,
      afterWord: word,
      afterOther: afterOther === afterWord ? word : change(afterOther),
    };
  }

  #isNullable(regex: Regex): boolean {
    let nullable = this.#nullable.get(regex);
    if (nullable === undefined) {
      nullable = this.#computeNullable(regex);
      this.#nullable.set(regex, nullable);
    }
    return nullable;
  }

  #computeNullable(regex: Regex): boolean {
    switch (regex.kind) {
      case 'never':
      case 'set':
      case 'multiple':
        return false;
      case 'text':
        return regex.text === '';
      case 'sequence':
      case 'both':
        return regex.parts.every((part) => this.#isNullable(part));
      case 'choice':
        return regex.parts.some((part) => this.#isNullable(part));
      case 'not':
        return !this.#isNullable(regex.part);
      case 'repeat':
        return regex.min === 0 || this.#isNullable(regex.part);
    }
  }
}

function beforeBoundary({ atStart, afterWord, afterOther }: Rest, isWanted: boolean): Rest {
  const [afterWordRest, otherRest] = isWanted
    ? [not(BEFORE_WORD), BEFORE_WORD]
    : [BEFORE_WORD, not(BEFORE_WORD)];
  return {
    atStart: both(atStart, otherRest),
    afterWord: both(afterWord, afterWordRest),
    afterOther: both(afterOther, otherRest),
  };
}

function either(rests: readonly Rest[]): Rest {
  const all = (of: (rest: Rest) => Regex): Regex => rests.map(of).reduce(either2);
  const atStart = all((rest) => rest.atStart);
  // Without assertions that look back, the three are one language and stay the same object.
  if (rests.every((rest) => rest.atStart === rest.afterWord && rest.afterWord === rest.afterOther)) {
    return { atStart, afterWord: atStart, afterOther: atStart };
  }
  const afterWord = all((rest) => rest.afterWord);
  const looksBack = rests.some((rest) => rest.afterWord !== rest.afterOther);
  return { atStart, afterWord, afterOther: looksBack ? all((rest) => rest.afterOther) : afterWord };
}

function either2(a: Regex, b: Regex): Regex {
  if (a === b || b.kind === 'never') return a;
  if (a.kind === 'never') return b;
  return { kind: 'choice', parts: a.kind === 'choice' ? [...a.parts, b] : [a, b] };
}

function both(a: Regex, b: Regex): Regex {
  if (a.kind === 'never' || b.kind === 'never') return NEVER;
  if (a === b || b === ANY) return a;
  return a === ANY ? b : { kind: 'both', parts: [a, b] };
}

function not(part: Regex): Regex {
  if (part.kind === 'never') return ANY;
  return part === ANY ? NEVER : { kind: 'not', part };
}

function sequence(a: Regex, b: Regex): Regex {
  if (a.kind === 'never' || b.kind === 'never') return NEVER;
  if (a.kind === 'text' && a.text === '') return b;
  if (a === ANY && b === ANY) return ANY;
  return b.kind === 'text' && b.text === '' ? a : { kind: 'sequence', parts: [a, b] };
}

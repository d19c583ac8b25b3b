import type { Fuel } from '../fuel.ts';
import { Ints, TupleTable } from '../tuple-table.ts';
import { ByteSets } from './byte-sets.ts';
import { Kind, type Language, type LanguageMaker, UNLIMITED } from './language-kinds.ts';
import { mergedAlternatives } from './merged-alternatives.ts';

const MAX_INTS = 24 * 2 ** 20;
/** The maximum depth, because computing a derivative recurses once per level. */
const DEEPEST = 600;

const NULLABLE = 1;
/** Made without `and` and `not`, so it cannot turn out to be empty. */
const PLAIN = 2;
const LIVE = 4;
const DEAD = 8;
const DEPTH_SHIFT = 8;

/**
 * Regular languages over bytes as hash-consed expressions. The constructors simplify (Owens, Reppy and Turon 2009:
 * associativity, commutativity and idempotence of `or` and `and`, double complements, identity and absorbing elements),
 * so that a language has few distinct derivatives; counted repetitions stay counts. Nothing is ever removed: the owner
 * drops the table as a whole.
 */
export class Languages implements LanguageMaker {
  readonly sets = new ByteSets();
  readonly table = new TupleTable();
  readonly #facts = new Ints(256);
  readonly never: Language;
  readonly empty: Language;
  /** Every byte string. */
  readonly all: Language;
  /** The budget of the current work; set by its caller. */
  fuel: Fuel;

  constructor(fuel: Fuel) {
    this.fuel = fuel;
    this.never = this.#make([Kind.never]);
    this.empty = this.#make([Kind.empty]);
    this.all = this.#make([Kind.not, this.never]);
  }

  kind(language: Language): number {
    return this.table.at(language, 0);
  }

  /** An element of a language's tuple. */
  member(language: Language, index: number): number {
    return this.table.at(language, index);
  }

  /** The operands of an `or` or `and`, or the language itself. */
  partsOf(language: Language, kind: number): Language[] {
    if (this.kind(language) !== kind) return [language];
    const start = this.table.start(language);
    return Array.from(this.table.values.array.subarray(start + 1, start + this.table.lengthOf(language)));
  }

  isNullable(language: Language): boolean {
    return (this.#facts.at(language) & NULLABLE) !== 0;
  }

  /** True when the language contains no intersection or complement. */
  isPlain(language: Language): boolean {
    return (this.#facts.at(language) & PLAIN) !== 0;
  }

  /** The nesting depth of the expression, not counting along concatenations. */
  depthOf(language: Language): number {
    return this.#facts.at(language) >> DEPTH_SHIFT;
  }

  /** Whether it has a text, if known; `liveness.ts` finds out. */
  knownLive(language: Language): boolean | undefined {
    const facts = this.#facts.at(language);
    return (facts & LIVE) !== 0 ? true : (facts & DEAD) !== 0 ? false : undefined;
  }

  /** Stores the result. */
  setLive(language: Language, isLive: boolean): void {
    this.#facts.array[language] = this.#facts.at(language) | (isLive ? LIVE : DEAD);
  }

  bytes(set: number): Language {
    return set === this.sets.none ? this.never : this.#make([Kind.bytes, set]);
  }

  /** Exactly these bytes. */
  literal(bytes: ArrayLike<number>): Language {
    let language = this.empty;
    for (let i = bytes.length - 1; i >= 0; i--) {
      language = this.concat(this.bytes(this.sets.of([bytes[i] as number])), language);
    }
    return language;
  }

  concat(head: Language, tail: Language): Language {
    if (head === this.never || tail === this.never) return this.never;
    if (head === this.empty) return tail;
    if (tail === this.empty) return head;
    if (this.kind(head) !== Kind.concat) return this.#concatOne(head, tail);
    const heads: Language[] = [];
    let rest = head;
    for (; this.kind(rest) === Kind.concat; rest = this.member(rest, 2)) heads.push(this.member(rest, 1));
    this.fuel.spend(heads.length);
    let language = this.#concatOne(rest, tail);
    for (let i = heads.length - 1; i >= 0; i--) language = this.#concatOne(heads[i] as Language, language);
    return language;
  }

  or(parts: readonly Language[]): Language {
    const alternatives = this.#flat(parts, Kind.or);
    alternatives.delete(this.never);
    if (alternatives.size === 0) return this.never;
    if (alternatives.size === 1) return [...alternatives][0] as Language;
    if (alternatives.has(this.all)) return this.all;
    const merged = mergedAlternatives(this, alternatives);
    if (merged.length === 1) return merged[0] as Language;
    const known = new Set(merged);
    for (const part of merged) {
      if (this.kind(part) === Kind.not && known.has(this.member(part, 1))) return this.all;
    }
    return this.#make([Kind.or, ...merged]);
  }

  and(parts: readonly Language[]): Language {
    const all = this.#flat(parts, Kind.and);
    all.delete(this.all);
    if (all.has(this.never)) return this.never;
    if (all.size === 1) return [...all][0] as Language;
    if (all.size === 0) return this.all;
    if (all.has(this.empty)) return [...all].every((part) => this.isNullable(part)) ? this.empty : this.never;
    let set = this.sets.all;
    const excluded: Language[] = [];
    const others: Language[] = [];
    for (const part of all) {
      if (this.kind(part) === Kind.bytes) set = this.sets.intersection(set, this.member(part, 1));
      else if (this.kind(part) === Kind.not) excluded.push(this.member(part, 1));
      else others.push(part);
    }
    if (set !== this.sets.all) others.push(this.bytes(set));
    const out = this.or(excluded);
    if (out === this.all || others.includes(this.never) || others.includes(out)) return this.never;
    if (out !== this.never) others.push(this.not(out));
    if (others.length === 1) return others[0] as Language;
    others.sort((a, b) => a - b);
    return this.#make([Kind.and, ...others]);
  }

  not(part: Language): Language {
    return this.kind(part) === Kind.not ? this.member(part, 1) : this.#make([Kind.not, part]);
  }

  /** `min` to `max` repetitions; a `max` of at least `UNLIMITED` means unbounded. */
  repeat(part: Language, min: number, max: number): Language {
    const most = Math.min(max, UNLIMITED);
    if (min > most) return this.never;
    if (min >= UNLIMITED) return this.fuel.refuse(`a repetition of at least ${min} times`);
    if (most === 0 || part === this.empty) return this.empty;
    if (part === this.never) return min === 0 ? this.empty : this.never;
    if (min === 1 && most === 1) return part;
    const least = this.isNullable(part) ? 0 : min;
    const core = this.#withoutEmpty(part);
    const merged = this.kind(core) === Kind.repeat ? this.#repeatOfRepeat(core, least, most) : undefined;
    return merged ?? this.#make([Kind.repeat, core, least, most]);
  }

  /** A numeral that is a multiple; `multiples.ts` describes the members. */
  multiple(definition: number, digits: number, remainder: number, accepts: boolean): Language {
    return this.#make([Kind.multiple, definition, digits, remainder, accepts ? 1 : 0]);
  }

  /** Some words of a list; `word-lists.ts` describes the members. */
  words(members: readonly number[]): Language {
    return this.#make([Kind.words, ...members]);
  }

  /** The empty text, whose number identifies the word read before it. */
  named(number: number): Language {
    return this.#make([Kind.named, number]);
  }

  /** Adjacent counts of the same part are merged. */
  #concatOne(head: Language, tail: Language): Language {
    if (this.kind(head) === Kind.repeat) {
      const next = this.kind(tail) === Kind.concat ? this.member(tail, 1) : tail;
      if (this.kind(next) === Kind.repeat && this.member(next, 1) === this.member(head, 1)) {
        const min = this.member(head, 2) + this.member(next, 2);
        const max = this.member(head, 3) + this.member(next, 3);
        const both = this.repeat(this.member(head, 1), min, max);
        return next === tail ? both : this.#concatOne(both, this.member(tail, 2));
      }
    }
    return this.#make([Kind.concat, head, tail]);
  }

  /** `(x{p,q}){m,n}` is `x{pm,qn}` when the counts from `m` repetitions on leave no gap. */
  #repeatOfRepeat(inner: Language, min: number, max: number): Language | undefined {
    const p = this.member(inner, 2);
    const q = this.member(inner, 3);
    const isWhole = min === max || (min === 0 ? p <= 1 : min * q + 1 >= (min + 1) * p);
    return isWhole ? this.repeat(this.member(inner, 1), p * min, q * max) : undefined;
  }

  /** Drops the empty text from a repeated part, where it changes nothing. */
  #withoutEmpty(part: Language): Language {
    if (this.kind(part) === Kind.repeat && this.member(part, 2) === 0) {
      const inner = this.member(part, 1);
      return this.isNullable(inner) ? part : this.#make([Kind.repeat, inner, 0, this.member(part, 3)]);
    }
    if (this.kind(part) !== Kind.or || !this.isNullable(part)) return part;
    return this.or(this.partsOf(part, Kind.or).filter((alternative) => alternative !== this.empty));
  }

  #flat(parts: readonly Language[], kind: number): Set<Language> {
    const flat = new Set<Language>();
    for (const part of parts) for (const inner of this.partsOf(part, kind)) flat.add(inner);
    this.fuel.spend(flat.size);
    return flat;
  }

  #make(tuple: readonly number[]): Language {
    const before = this.table.size;
    const language = this.table.intern(tuple);
    if (language !== before) return language;
    this.#facts.push(this.#factsOf(tuple));
    this.fuel.spend(2);
    if (this.table.values.length > MAX_INTS)
      this.fuel.refuse('it grows beyond the memory that grammars may take');
    return language;
  }

  #factsOf(tuple: readonly number[]): number {
    const [kind] = tuple;
    const parts = partsIn(tuple);
    const depth = this.#depthOf(tuple, parts);
    if (depth > DEEPEST) this.fuel.refuse(`it is nested more than ${DEEPEST} deep`);
    const plain = kind !== Kind.and && kind !== Kind.not && parts.every((part) => this.isPlain(part));
    const isNullable = this.#accepts(tuple, parts);
    const live = plain ? kind !== Kind.never : isNullable || this.#isSurelyLive(tuple, parts);
    return (
      (isNullable ? NULLABLE : 0) |
      (plain ? PLAIN : 0) |
      (live ? LIVE : 0) |
      (kind === Kind.never ? DEAD : 0) |
      (depth << DEPTH_SHIFT)
    );
  }

  #depthOf(tuple: readonly number[], parts: readonly Language[]): number {
    const depths = parts.map((part) => this.depthOf(part));
    // Functions that walk along a concatenation use a loop.
    if (tuple[0] === Kind.concat) return Math.max((depths[0] as number) + 1, depths[1] as number);
    return depths.reduce((deepest, depth) => Math.max(deepest, depth + 1), 0);
  }

  #accepts(tuple: readonly number[], parts: readonly Language[]): boolean {
    const isNullable = (part: Language): boolean => this.isNullable(part);
    switch (tuple[0]) {
      case Kind.empty:
      case Kind.named:
        return true;
      case Kind.concat:
      case Kind.and:
        return parts.every(isNullable);
      case Kind.or:
        return parts.some(isNullable);
      case Kind.not:
        return !parts.every(isNullable);
      case Kind.repeat:
        return tuple[2] === 0;
      case Kind.multiple:
        return tuple[4] === 1;
      case Kind.words:
        return tuple[7] === 1;
      default:
        return false;
    }
  }

  #isSurelyLive(tuple: readonly number[], parts: readonly Language[]): boolean {
    const isLive = (part: Language): boolean => this.knownLive(part) === true;
    if (tuple[0] === Kind.concat || tuple[0] === Kind.repeat) return parts.every(isLive);
    return tuple[0] === Kind.or && parts.some(isLive);
  }
}

/** The languages in a tuple. */
function partsIn(tuple: readonly number[]): readonly Language[] {
  switch (tuple[0]) {
    case Kind.concat:
    case Kind.or:
    case Kind.and:
    case Kind.not:
      return tuple.slice(1);
    case Kind.repeat:
      return tuple.slice(1, 2);
    default:
      return [];
  }
}

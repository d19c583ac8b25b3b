import type { RegularLanguages } from '../regex/regular-languages.ts';
import { Ints, TupleTable } from '../tuple-table.ts';
import { DEAD } from './lexer.ts';
import type { Rows } from './rows.ts';
import { TransitionRows, UNKNOWN } from './transition-rows.ts';

export { DEAD } from './lexer.ts';

/** The transition depends on the text: the byte would end a `distinct` terminal. */
export const DEPENDS_ON_TEXT = -3;

/** In place of the row of a configuration in which no terminal ends. */
const NO_ROW = -1;
/** In place of the start position of a row when nothing depends on it. */
const ANYWHERE = -1;

const NO_TEXT = new Ints(1);

const MAX_INTS = 24 * 2 ** 20;

/**
 * The parser's states: the row that ends here, if any, and for each row with unfinished terminals the lexer's state.
 * Equal configurations are interned, so the whole parser is a lazily built automaton over bytes.
 */
export class Configurations {
  readonly #regular: RegularLanguages;
  readonly #rows: Rows;
  readonly #isShadow: boolean;
  /** From a configuration of another table to its shadow in this one. */
  readonly #shadows = new Map<number, number>();
  /** By configuration: the minimum number of texts left. */
  readonly #minTexts: number[] = [];
  /** [row that ends here, then (row, start of its terminal, lexer state), ...]. */
  readonly #table = new TupleTable();
  readonly #transitions = new TransitionRows();
  /** The configuration before any text. */
  readonly first: number;

  /** With `isShadow` it has no memories: it does not know the text, and reports where the text would decide. */
  constructor(regular: RegularLanguages, rows: Rows, isShadow = false) {
    this.#regular = regular;
    this.#rows = rows;
    this.#isShadow = isShadow;
    this.first = rows.isDead(rows.first) ? DEAD : this.#at(rows.first, [], 0);
  }

  /**
   * The configuration after a byte, or `DEAD`. `text` holds all bytes up to and including this one, because memories
   * store what `distinct` terminals matched.
   */
  step(configuration: number, text: Ints): number {
    const byte = text.at(text.length - 1);
    const known = this.#transitions.get(configuration, byte);
    return known === UNKNOWN ? this.#compute(configuration, byte, text) : known;
  }

  /**
   * The configuration after a token taken as a whole, or `DEAD`; `isText` is true for tokens that stand for text,
   * `position` is the length of the text including it.
   */
  stepToken(configuration: number, id: number, isText: boolean, position: number): number {
    const row = this.row(configuration);
    if (row === NO_ROW) return DEAD;
    const kernel: number[] = [];
    this.#rows.scanToken(row, id, isText, kernel);
    return kernel.length === 0 ? DEAD : this.#from(kernel, [], position);
  }

  /** The union of two configurations; either may be `DEAD`. */
  union(a: number, b: number): number {
    if (a === DEAD || b === DEAD || a === b) return a === DEAD ? b : a;
    const rows = [this.row(a), this.row(b)].filter((row) => row !== NO_ROW);
    const members = [...this.members(a), ...this.members(b)];
    const [row = NO_ROW, other] = rows;
    if (other === undefined) return this.#intern(row, members);
    return this.#intern(this.#rows.joined(row, other), members);
  }

  /** The row that ends here, or a negative number for none. */
  row(configuration: number): number {
    return this.#table.at(configuration, 0);
  }

  /** True when the text may end here. */
  canEnd(configuration: number): boolean {
    const row = this.row(configuration);
    return row !== NO_ROW && this.#rows.at(row).canEnd;
  }

  /** True when the text may continue. */
  canContinue(configuration: number): boolean {
    if (this.#table.lengthOf(configuration) > 1) return true;
    const row = this.row(configuration);
    if (row === NO_ROW) return false;
    const { tokens, anyTokens } = this.#rows.at(row);
    return tokens.size > 0 || anyTokens.length > 0;
  }

  /** For each item that accepts any token except some: the exceptions. */
  exceptions(configuration: number): ReadonlySet<number>[] {
    const row = this.row(configuration);
    return row === NO_ROW ? [] : this.#rows.at(row).anyTokens.map((item) => this.#rows.exceptions(item));
  }

  /** The special tokens that are allowed next. */
  tokens(configuration: number): Iterable<number> {
    const row = this.row(configuration);
    return row === NO_ROW ? [] : this.#rows.at(row).tokens.keys();
  }

  /**
   * The configuration in which a row ends at this position and no terminal is unfinished; `DEAD` for a row without
   * continuation.
   */
  begin(row: number, position: number): number {
    return this.#rows.isDead(row) ? DEAD : this.#at(row, [], position);
  }

  /** The rows with unfinished terminals as consecutive triples [row, start of its terminal, lexer state]. */
  members(configuration: number): number[] {
    const start = this.#table.start(configuration);
    const { array } = this.#table.values;
    return Array.from(array.subarray(start + 1, start + this.#table.lengthOf(configuration)));
  }

  /** The shadow of another table's configuration: the same one without memories. */
  shadowOf(other: Configurations, configuration: number): number {
    let shadow = this.#shadows.get(configuration);
    if (shadow === undefined) {
      const row = other.row(configuration);
      const members = other.members(configuration);
      for (let i = 0; i < members.length; i += 3) {
        members[i] = this.#rows.shadow(members[i] as number);
        members[i + 1] = ANYWHERE;
      }
      shadow = this.#intern(row === NO_ROW ? row : this.#rows.shadow(row), members);
      this.#shadows.set(configuration, shadow);
    }
    return shadow;
  }

  /** The configuration after a byte when the text is unknown, or `DEAD` or `DEPENDS_ON_TEXT`. */
  stepByte(configuration: number, byte: number): number {
    const known = this.#transitions.get(configuration, byte);
    return known === UNKNOWN ? this.#compute(configuration, byte, NO_TEXT) : known;
  }

  /**
   * The minimum number of texts still possible for some unfinished terminal; Infinity when none of them is compared
   * with earlier texts.
   */
  minTexts(configuration: number): number {
    return this.#minTexts[configuration] as number;
  }

  /** The number of integers in the table. */
  get ints(): number {
    return this.#table.values.length;
  }

  #compute(configuration: number, byte: number, text: Ints): number {
    const members: number[] = [];
    const kernel: number[] = [];
    let dependsOnText = false;
    const length = this.#table.lengthOf(configuration);
    for (let i = 1; i < length; i += 3) {
      const row = this.#table.at(configuration, i);
      const began = this.#table.at(configuration, i + 1);
      const state = this.#rows.lexer.step(this.#table.at(configuration, i + 2), byte);
      if (state === DEAD) continue;
      const ending = this.#rows.lexer.ending(state);
      if (ending !== 0) {
        if (this.#isShadow && this.#rows.endsDistinct(row, ending)) {
          this.#transitions.set(configuration, byte, DEPENDS_ON_TEXT);
          return DEPENDS_ON_TEXT;
        }
        dependsOnText ||= began !== ANYWHERE;
        this.#rows.scan(row, ending, () => Uint8Array.from(text.array.subarray(began, text.length)), kernel);
      }
      if (this.#rows.lexer.canContinue(state)) members.push(row, began, state);
    }
    const next = this.#from(kernel, members, text.length);
    if (!dependsOnText && !this.#holdsPosition(next)) this.#transitions.set(configuration, byte, next);
    return next;
  }

  /** True where a `distinct` terminal begins: then the start position is part of the configuration. */
  #holdsPosition(configuration: number): boolean {
    if (this.#isShadow || configuration === DEAD) return false;
    const row = this.row(configuration);
    return row !== NO_ROW && this.#rows.at(row).hasDistinct;
  }

  #from(kernel: number[], members: number[], position: number): number {
    if (kernel.length === 0) return members.length === 0 ? DEAD : this.#intern(NO_ROW, members);
    const row = this.#rows.row(kernel);
    if (!this.#rows.isDead(row)) return this.#at(row, members, position);
    return members.length === 0 ? DEAD : this.#intern(NO_ROW, members);
  }

  /** Adds the row's terminals, starting at this position. */
  #at(row: number, members: number[], position: number): number {
    const { lexer, hasDistinct } = this.#rows.at(row);
    const own = lexer === DEAD ? [] : [row, hasDistinct && !this.#isShadow ? position : ANYWHERE, lexer];
    return this.#intern(row, [...members, ...own]);
  }

  #intern(row: number, members: readonly number[]): number {
    this.#regular.languages.fuel.spend(1 + members.length);
    const before = this.#table.size;
    const configuration = this.#table.intern([row, ...sortedMembers(members)]);
    if (configuration !== before) return configuration;
    this.#minTexts.push(this.#findMinTexts(configuration));
    if (this.#table.values.length > MAX_INTS) {
      this.#regular.languages.fuel.refuse('its parser grows beyond the memory that grammars may take');
    }
    return configuration;
  }

  #findMinTexts(configuration: number): number {
    const row = this.row(configuration);
    if (row !== NO_ROW) {
      const { canEnd, tokens, anyTokens } = this.#rows.at(row);
      if (canEnd || tokens.size > 0 || anyTokens.length > 0) return Infinity;
    }
    let least = 0;
    const length = this.#table.lengthOf(configuration);
    for (let i = 1; i < length && least < Infinity; i += 3) {
      const own = this.#rows.minTexts(this.#table.at(configuration, i), this.#table.at(configuration, i + 2));
      least = Math.max(least, own);
    }
    return least;
  }
}

/** Sorts triples in ascending order and removes duplicates. */
function sortedMembers(members: readonly number[]): readonly number[] {
  if (members.length <= 3) return members;
  const triples: (readonly number[])[] = [];
  for (let i = 0; i < members.length; i += 3) triples.push(members.slice(i, i + 3));
  triples.sort(compareTriples);
  return triples
    .filter((triple, i) => i === 0 || compareTriples(triple, triples[i - 1] as readonly number[]) !== 0)
    .flat();
}

function compareTriples(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < 3; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

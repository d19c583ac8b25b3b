import { Fuel, type FuelOptions } from './fuel.ts';
import type { Grammar } from './grammar.ts';
import { Configurations } from './parser/configurations.ts';
import { RuleCompiler } from './parser/rule-compiler.ts';
import { Rows } from './parser/rows.ts';
import type { TokenNames } from './parser/rule-tables.ts';
import { RegularLanguages } from './regex/regular-languages.ts';

/**
 * A grammar made ready: tables that grow while texts of it are matched, and are shared by all of them. Compiling does only what is
 * proportional to the grammar; states come when they are needed.
 */
export class CompiledGrammar {
  readonly regular: RegularLanguages;
  #isBroken = false;
  readonly rows: Rows;
  readonly configurations: Configurations;
  /** Configurations without memories, by which masks are made and kept. */
  readonly shadows: Configurations;

  /**
   * Throws `GRAMMAR_INVALID` for a grammar that is malformed or allows no
   * text, `GRAMMAR_TOO_COSTLY` where compiling it takes more than `limits`.
   */
  constructor(grammar: Grammar, tokens: TokenNames, limits: FuelOptions = {}) {
    this.regular = new RegularLanguages(new Fuel('the grammar', limits));
    const tables = new RuleCompiler(this.regular, tokens).compile(grammar);
    this.rows = new Rows(this.regular, tables);
    this.configurations = new Configurations(this.regular, this.rows);
    this.shadows = new Configurations(this.regular, this.rows, true);
  }

  /** How many integers its tables hold. */
  get ints(): number {
    return (
      this.regular.languages.table.values.length +
      this.rows.ints +
      this.configurations.ints +
      this.shadows.ints
    );
  }

  /** True when work on it was broken off, after which its tables are not to be trusted. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /**
   * Does work that may cost as much as the fuel. Throws `GRAMMAR_TOO_COSTLY` where it costs more, and from then on: the tables are left
   * as they were in the middle of it.
   */
  work<T>(fuel: Fuel, run: () => T): T {
    if (this.#isBroken) fuel.refuse('other work on the same grammar took too much and was broken off');
    this.regular.languages.fuel = fuel;
    this.#isBroken = true;
    const result = run();
    this.#isBroken = false;
    return result;
  }
}

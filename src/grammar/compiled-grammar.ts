import { Fuel, type FuelOptions } from './fuel.ts';
import type { Grammar } from './grammar.ts';
import { Configurations } from './parser/configurations.ts';
import { RuleCompiler } from './parser/rule-compiler.ts';
import { Rows } from './parser/rows.ts';
import type { TokenNames } from './parser/rule-tables.ts';
import { RegularLanguages } from './regex/regular-languages.ts';

/**
 * A compiled grammar: tables that grow while texts are matched, and are shared by all texts. Compiling takes time
 * proportional to the grammar; states are created on demand.
 */
export class CompiledGrammar {
  readonly regular: RegularLanguages;
  #isBroken = false;
  readonly rows: Rows;
  readonly configurations: Configurations;
  /** Configurations without memories of `distinct` scopes, by which masks are computed and cached. */
  readonly shadows: Configurations;

  /**
   * Throws `GRAMMAR_INVALID` for a grammar that is malformed or allows no text, `GRAMMAR_TOO_COSTLY` if compiling
   * exceeds the `limits`.
   */
  constructor(grammar: Grammar, tokens: TokenNames, limits: FuelOptions = {}) {
    this.regular = new RegularLanguages(new Fuel('the grammar', limits));
    const tables = new RuleCompiler(this.regular, tokens).compile(grammar);
    this.rows = new Rows(this.regular, tables);
    this.configurations = new Configurations(this.regular, this.rows);
    this.shadows = new Configurations(this.regular, this.rows, true);
  }

  /** Size of its tables, in integers. */
  get ints(): number {
    return (
      this.regular.languages.table.values.length +
      this.rows.ints +
      this.configurations.ints +
      this.shadows.ints
    );
  }

  /** True if work on it was interrupted, after which its tables are inconsistent. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /**
   * Runs work within a budget. Throws `GRAMMAR_TOO_COSTLY` if it exceeds that, and on every later call, because the
   * tables are then inconsistent.
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

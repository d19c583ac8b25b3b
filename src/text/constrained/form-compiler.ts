import {
  PreparedVocabulary,
  type FuelOptions,
  type GrammarMatcher,
  TokenGrammar,
} from '../../grammar/index.ts';
import { formGrammar, type TextForm } from './text-form.ts';
import { tableVocabulary, type VocabularyTable } from './vocabulary-table.ts';

/** Maximum cached grammars. */
const MAX_COMPILED = 64;
/** Maximum total size of their tables and masks, in integers: a quarter of a gigabyte. */
const MAX_INTS = 64 * 2 ** 20;
/** Deadline of compiling, for a machine a hundred times slower than usual: normally the units are the limit. */
const COMPILE_MS = 30_000;
/**
 * The budget for parsing and compiling a form: some tenths of a second; 5 000 objects in `$defs` take a quarter of it.
 */
const COMPILE_UNITS = 1_500_000;

/** What may abort compiling, and what is done in between. */
export interface CompilingOptions {
  readonly signal?: Pick<AbortSignal, 'aborted' | 'reason'> | undefined;
  readonly onCheck?: () => void;
}

/**
 * Grammars for one vocabulary, compiled once for equal forms; the most recently used are cached as far as there is
 * room.
 */
export class FormCompiler {
  readonly #vocabulary: PreparedVocabulary;
  readonly #limits: { readonly grammars: number; readonly ints: number };
  readonly #compiled = new Map<string, TokenGrammar>();

  constructor(table: VocabularyTable, limits = { grammars: MAX_COMPILED, ints: MAX_INTS }) {
    this.#limits = limits;
    this.#vocabulary = new PreparedVocabulary(tableVocabulary(table));
  }

  /**
   * A matcher at the start of a text; `written` is the form as text. While compiling, it calls `onCheck`, which may use
   * other matchers. Throws as `formGrammar`.
   */
  matcher(written: string, options: CompilingOptions = {}): GrammarMatcher {
    let grammar = this.#compiled.get(written);
    if (grammar) this.#compiled.delete(written);
    else grammar = this.#compile(JSON.parse(written) as TextForm, options);
    this.#compiled.set(written, grammar);
    this.#makeRoom();
    return grammar.matcher();
  }

  /** Number of cached grammars. */
  get size(): number {
    return this.#compiled.size;
  }

  /**
   * Evicts the least recently used, but never the latest: tables grow while texts are matched, so all are measured
   * again.
   */
  #makeRoom(): void {
    let [count, ints] = [this.#compiled.size, 0];
    for (const [written, grammar] of this.#compiled) ints += grammar.ints + written.length;
    for (const [written, grammar] of this.#compiled) {
      if (count === 1 || (count <= this.#limits.grammars && ints <= this.#limits.ints)) return;
      this.#compiled.delete(written);
      ints -= grammar.ints + written.length;
      count--;
    }
  }

  #compile(form: TextForm, { signal, onCheck }: CompilingOptions): TokenGrammar {
    const limits: FuelOptions = {
      units: COMPILE_UNITS,
      deadline: performance.now() + COMPILE_MS,
      ...(signal && { signal: signal as AbortSignal }),
      ...(onCheck && { onCheck }),
    };
    return new TokenGrammar(formGrammar(form, limits), this.#vocabulary, limits);
  }
}

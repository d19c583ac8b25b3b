import {
  PreparedVocabulary,
  type FuelOptions,
  type GrammarMatcher,
  TokenGrammar,
} from '../../grammar/index.ts';
import { formGrammar, type TextForm } from './text-form.ts';
import { tableVocabulary, type VocabularyTable } from './vocabulary-table.ts';

/** Compiled grammars that are kept for the next text. */
const MAX_COMPILED = 64;
/** Integers that their tables and masks may have together: a quarter of a gigabyte. */
const MAX_INTS = 64 * 2 ** 20;
/** Milliseconds after which compiling is given up, on a machine a hundred times as slow as ours: what bounds it are the units. */
const COMPILE_MS = 30_000;
/** What reading a form, and then compiling it, may cost: some tenths of a second; 5 000 objects in `$defs` take a quarter of it. */
const COMPILE_UNITS = 1_500_000;

/** What may end the compiling of a form, and what is done beside it. */
export interface CompilingOptions {
  readonly signal?: Pick<AbortSignal, 'aborted' | 'reason'> | undefined;
  readonly onLook?: () => void;
}

/**
 * Grammars for one vocabulary, compiled once for all who write the same form; those used last are kept, as many as there is room
 * for.
 */
export class FormCompiler {
  readonly #vocabulary: PreparedVocabulary;
  readonly #most: { readonly grammars: number; readonly ints: number };
  readonly #compiled = new Map<string, TokenGrammar>();

  constructor(table: VocabularyTable, most = { grammars: MAX_COMPILED, ints: MAX_INTS }) {
    this.#most = most;
    this.#vocabulary = new PreparedVocabulary(tableVocabulary(table));
  }

  /**
   * A text of a form, at its beginning; `written` is how the form is written. While it compiles it calls `onLook`, which may use
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

  /** How many grammars are kept. */
  get size(): number {
    return this.#compiled.size;
  }

  /** Forgets what was used longest ago, but never the last: tables grow while texts are matched, so that all are weighed again. */
  #makeRoom(): void {
    let [count, ints] = [this.#compiled.size, 0];
    for (const [written, grammar] of this.#compiled) ints += grammar.ints + written.length;
    for (const [written, grammar] of this.#compiled) {
      if (count === 1 || (count <= this.#most.grammars && ints <= this.#most.ints)) return;
      this.#compiled.delete(written);
      ints -= grammar.ints + written.length;
      count--;
    }
  }

  #compile(form: TextForm, { signal, onLook }: CompilingOptions): TokenGrammar {
    const limits: FuelOptions = {
      units: COMPILE_UNITS,
      deadline: performance.now() + COMPILE_MS,
      ...(signal && { signal: signal as AbortSignal }),
      ...(onLook && { onLook }),
    };
    return new TokenGrammar(formGrammar(form, limits), this.#vocabulary, limits);
  }
}

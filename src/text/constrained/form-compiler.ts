import {
  PreparedVocabulary,
  type FuelOptions,
  type GrammarMatcher,
  TokenGrammar,
} from '../../grammar/index.ts';
import { formGrammar, type TextForm } from './text-form.ts';
import { tableVocabulary, type VocabularyTable } from './vocabulary-table.ts';

/** Compiled grammars that are kept for the next text. */
const MOST_COMPILED = 64;
/** Milliseconds that compiling one may take. */
const COMPILE_MS = 5000;

/** Grammars for one vocabulary, compiled once for all who write the same form; those used last are kept. */
export class FormCompiler {
  readonly #vocabulary: PreparedVocabulary;
  readonly #compiled = new Map<string, TokenGrammar>();

  constructor(table: VocabularyTable) {
    this.#vocabulary = new PreparedVocabulary(tableVocabulary(table));
  }

  /** A text of a form, at its beginning; `written` is how the form is written. Throws as `formGrammar`. */
  matcher(written: string, signal?: Pick<AbortSignal, 'aborted' | 'reason'>): GrammarMatcher {
    let grammar = this.#compiled.get(written);
    if (grammar) this.#compiled.delete(written);
    else grammar = this.#compile(JSON.parse(written) as TextForm, signal);
    this.#compiled.set(written, grammar);
    if (this.#compiled.size > MOST_COMPILED) {
      const [oldest] = this.#compiled.keys();
      this.#compiled.delete(oldest as string);
    }
    return grammar.matcher();
  }

  #compile(form: TextForm, signal: Pick<AbortSignal, 'aborted' | 'reason'> | undefined): TokenGrammar {
    const limits: FuelOptions = {
      deadline: performance.now() + COMPILE_MS,
      ...(signal && { signal: signal as AbortSignal }),
    };
    return new TokenGrammar(formGrammar(form, limits), this.#vocabulary, limits);
  }
}

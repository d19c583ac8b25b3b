import { fail } from '../base/errors.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import { type Grammar, GrammarSource, type OpenGrammarRealm, type TokenConstraint } from '../text/index.ts';

/** Grammars for the tokenizers of all served models; what was compiled for a model goes with it. */
export class Grammars {
  readonly #open: OpenGrammarRealm | undefined;
  readonly #sources = new WeakMap<LanguageModel, GrammarSource>();

  constructor(open: OpenGrammarRealm | undefined) {
    this.#open = open;
  }

  /** A constraint for one text. Rejects with `GRAMMARS_MISSING` and `GRAMMAR_INVALID`. */
  async constrain(model: LanguageModel, grammar: Grammar): Promise<TokenConstraint> {
    if (!this.#open) fail('GRAMMARS_MISSING', {});
    let source = this.#sources.get(model);
    if (!source) {
      source = new GrammarSource(model.tokenizer, model.vocabulary, this.#open);
      this.#sources.set(model, source);
    }
    return source.constrain(grammar);
  }
}

import { inTurns } from '../../base/turns.ts';
import type { GrammarMatcher } from '../../grammar/index.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { FormCompiler } from './form-compiler.ts';
import type { TokenConstraint } from './token-constraint.ts';
import { vocabularyTable } from './vocabulary-table.ts';

/** A model's tokens: one object a model, by which what was made for it is found again. */
export interface ConstrainedVocabulary {
  readonly tokenizer: Tokenizer;
  /** Logits of a position; ids beyond the tokenizer's are never allowed. */
  readonly size: number;
}

/** Makes what holds texts to a form. */
export interface ConstraintMaker {
  /**
   * A text of a form, as `writeForm` writes it, at its beginning; the caller disposes it. Rejects with `GRAMMAR_INVALID`,
   * `SCHEMA_UNSUPPORTED`, `GRAMMAR_TOO_COSTLY`, or `ABORTED` when the signal fires.
   */
  constrain(
    vocabulary: ConstrainedVocabulary,
    written: string,
    signal?: AbortSignal,
  ): Promise<TokenConstraint>;
  /** Forgets what was made for a model that has ended. */
  forget(vocabulary: ConstrainedVocabulary): void;
}

/** Makes constraints on the calling thread, for those who have one to themselves. */
export class LocalConstraints implements ConstraintMaker {
  readonly #compilers = new WeakMap<ConstrainedVocabulary, FormCompiler>();

  async constrain(
    vocabulary: ConstrainedVocabulary,
    written: string,
    signal?: AbortSignal,
  ): Promise<TokenConstraint> {
    let compiler = this.#compilers.get(vocabulary);
    if (!compiler) {
      const { tokenizer, size } = vocabulary;
      compiler = new FormCompiler(
        await inTurns(vocabularyTable(tokenizer, size), 'reading the vocabulary', signal),
      );
      this.#compilers.set(vocabulary, compiler);
    }
    return new LocalConstraint(compiler.matcher(written, { signal }));
  }

  forget(vocabulary: ConstrainedVocabulary): void {
    this.#compilers.delete(vocabulary);
  }
}

/** A text of a grammar on this thread. */
class LocalConstraint implements TokenConstraint {
  readonly #matcher: GrammarMatcher;

  constructor(matcher: GrammarMatcher) {
    this.#matcher = matcher;
  }

  get isComplete(): boolean {
    return this.#matcher.isComplete;
  }

  async fill(mask: Int32Array): Promise<void> {
    fillMask(this.#matcher, mask);
  }

  accept(id: number): void {
    this.#matcher.accept(id);
  }

  [Symbol.dispose](): void {
    // Its matcher holds nothing but memory.
  }
}

/** Writes what may come next. Throws `GRAMMAR_DEAD_END` where nothing may and the text is not complete, `GRAMMAR_TOO_COSTLY`. */
export function fillMask(matcher: GrammarMatcher, mask: Int32Array): void {
  if (!matcher.fill(mask) && !matcher.isComplete) matcher.failDeadEnd();
}

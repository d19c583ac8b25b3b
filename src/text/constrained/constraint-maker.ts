import { inTurns } from '../../base/turns.ts';
import type { GrammarMatcher } from '../../grammar/index.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { FormCompiler } from './form-compiler.ts';
import type { TokenConstraint } from './token-constraint.ts';
import { vocabularyTable } from './vocabulary-table.ts';

/** A model's tokens: one object per model, by which cached data is found. */
export interface ConstrainedVocabulary {
  readonly tokenizer: Tokenizer;
  /** Size of the logits; ids beyond the tokenizer's are never allowed. */
  readonly size: number;
}

/** Creates constraints. */
export interface ConstraintMaker {
  /**
   * A constraint for a form as written by `writeForm`, at the start of the text; the caller disposes it. Rejects with
   * `GRAMMAR_INVALID`, `SCHEMA_UNSUPPORTED`, `GRAMMAR_TOO_COSTLY`, or `ABORTED` when the signal fires.
   */
  constrain(
    vocabulary: ConstrainedVocabulary,
    written: string,
    signal?: AbortSignal,
  ): Promise<TokenConstraint>;
  /** Releases what was cached for a disposed model. */
  forget(vocabulary: ConstrainedVocabulary): void;
}

/** Creates constraints on the calling thread, for a caller that has a thread of its own. */
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

/** A constraint on this thread. */
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

/**
 * Computes the mask. Throws `GRAMMAR_DEAD_END` if no token is allowed though the text is incomplete,
 * `GRAMMAR_TOO_COSTLY`.
 */
export function fillMask(matcher: GrammarMatcher, mask: Int32Array): void {
  if (!matcher.fill(mask) && !matcher.isComplete) matcher.failDeadEnd();
}

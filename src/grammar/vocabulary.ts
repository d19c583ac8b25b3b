/** The tokens of a model, as far as constrained text asks for them. */
export interface GrammarVocabulary {
  /** How many ids there are, from 0. */
  readonly size: number;
  /** Tokens that end a text: allowed exactly where it may end. */
  readonly endOfGeneration: ReadonlySet<number>;
  /**
   * What a token is. `text` and `user-defined` tokens stand for their bytes wherever these match; `control` tokens only for
   * themselves, where a `token` rule names them; `unused` ones never come.
   */
  kind(id: number): 'text' | 'user-defined' | 'control' | 'unused';
  /** The bytes that a token stands for; of a control token, its spelling. */
  bytes(id: number): Uint8Array;
}

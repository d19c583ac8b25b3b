/** The properties of a model's tokens that constrained text needs. */
export interface GrammarVocabulary {
  /** Number of ids, from 0. */
  readonly size: number;
  /** Tokens that end a text: allowed exactly where it may end. */
  readonly endOfGeneration: ReadonlySet<number>;
  /**
   * The kind of a token. `text` and `user-defined` tokens are allowed wherever their bytes match; `control` tokens only
   * where a `token` rule names them; `unused` ones never.
   */
  kind(id: number): 'text' | 'user-defined' | 'control' | 'unused';
  /** The bytes of a token; for a control token, its spelling. */
  bytes(id: number): Uint8Array;
}

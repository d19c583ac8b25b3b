/** What a sequence may say, token by token. Its creator disposes it. */
export interface TokenConstraint extends Disposable {
  /**
   * Writes the tokens that may come next: bit `id % 32` of word `id / 32`. Where nothing may come any more, `isComplete` is true
   * after it. Rejects with `GRAMMAR_DEAD_END` where the text can neither go on nor end.
   */
  fill(mask: Int32Array): Promise<void>;
  /** Takes the token that came, one of those. */
  accept(id: number): void;
  /** True when nothing may come any more. Some know it after the next `fill` only. */
  readonly isComplete: boolean;
}

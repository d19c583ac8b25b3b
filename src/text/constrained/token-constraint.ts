/** Restricts a sequence's tokens, one by one. Its creator disposes it. */
export interface TokenConstraint extends Disposable {
  /**
   * Writes the tokens that may come next: bit `id % 32` of word `id / 32`. If none may, `isComplete` is true
   * afterwards. Rejects with `GRAMMAR_DEAD_END` if the text can neither continue nor end.
   */
  fill(mask: Int32Array): Promise<void>;
  /** Takes the sampled token, one of those allowed. */
  accept(id: number): void;
  /** True if no token may follow. Some constraints know this only after the next `fill`. */
  readonly isComplete: boolean;
  /**
   * True if the same tokens may come at every place: several of them can then be sampled at once, before any is accepted.
   * Default false.
   */
  readonly isFixed?: boolean;
}

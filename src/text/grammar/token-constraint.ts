/** What a sequence may say, token by token. Its creator disposes it. */
export interface TokenConstraint extends Disposable {
  /** Writes the tokens that may come next: bit `id % 32` of word `id / 32`. */
  fill(mask: Int32Array): Promise<void>;
  /** Takes the token that came, one of those. */
  accept(id: number): void;
  /** True when nothing may come any more. */
  readonly isComplete: boolean;
}

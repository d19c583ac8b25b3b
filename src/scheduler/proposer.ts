/** What a proposer sees of a sequence. */
export interface ProposedSequence {
  readonly ids: readonly number[];
  /** Its row of sampling parameters. */
  readonly sampling: Int32Array;
  /** Ids that end it. */
  readonly stopTokens: ReadonlySet<number>;
}

/** Proposes for one sequence, as long as that runs. */
export interface Follower {
  /**
   * At most `most` ids that may follow the sequence's, which stays as it is until they are there; none where there is nothing
   * to go by. Never rejects.
   */
  propose(most: number): readonly number[] | Promise<readonly number[]>;
  /** The sequence is over: what is under way for it is given up. */
  leave(): void;
}

/**
 * Proposes draft tokens: what sequences may say next. A draft token counts only where the model chooses the same token by itself, so that a wrong one
 * costs time and never changes a text.
 */
export interface Proposer {
  follow(sequence: ProposedSequence): Follower;
}

/** What a proposer knows of a sequence. */
export interface ProposedSequence {
  readonly ids: readonly number[];
  /** Its row of sampling parameters. */
  readonly sampling: Int32Array;
  /** Ids that end it. */
  readonly stopTokens: ReadonlySet<number>;
}

/** Proposes draft tokens for one sequence, for as long as that runs. */
export interface Follower {
  /**
   * At most `maxIds` ids that may follow the sequence's, which pauses until they are known; none if there is no basis for
   * any. Never rejects.
   */
  propose(maxIds: number): readonly number[] | Promise<readonly number[]>;
  /** The sequence has ended: any work in progress for it is abandoned. */
  leave(): void;
}

/**
 * Proposes draft tokens. A draft token is accepted only if the model samples the same token, so a wrong one costs time
 * but never changes a text.
 */
export interface Proposer {
  follow(sequence: ProposedSequence): Follower;
}

import type { SequencePlace } from './continuous-batcher.ts';

/** What the model's own predictor says of the ids behind a row. */
export interface Prediction {
  /** The draft of the id behind the row's sampled one; negative if there is none. */
  readonly id: number;
  /** The row, by its index in the step. */
  readonly row: number;
  /** The number of the step, counted as submitted. */
  readonly step: number;
}

/** What a proposer knows of a sequence. */
export interface ProposedSequence {
  readonly ids: readonly number[];
  readonly place: SequencePlace;
  /** The prediction of the row that sampled its last id, if its last step predicted. */
  readonly prediction: Prediction | undefined;
  /** Its row of sampling parameters. */
  readonly sampling: Int32Array;
  /** Ids that end it. */
  readonly stopTokens: ReadonlySet<number>;
  /** Only sequences with the same salt share prefixes. */
  readonly cacheSalt?: string | undefined;
}

/** Proposes draft tokens for one sequence, for as long as that runs. */
export interface Follower {
  /** Whether the next step always waits for its proposals, because they are computed from the last one's results. */
  readonly holdsSteps?: boolean;
  /** Whether it answers at once and without effort, so that it may be asked even while drafts are off. */
  readonly isFree?: boolean;
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

import type { Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import type { ProposedSequence } from '../scheduler/proposer.ts';
import type { SequenceState } from '../state/sequence-state.ts';

/** What the model's predictor runs on. */
export interface PredictorTarget {
  readonly plan: ExecutionPlan;
  readonly stream: Stream;
}

/** What a proposer of the model's own predictions needs of its engine. */
export interface PredictorSetup {
  readonly state: SequenceState;
  /** The device at this time; undefined while it is lost. */
  target(): PredictorTarget | undefined;
  /** The number of the latest step, counted as submitted. */
  latestStep(): number;
  /** Makes room for the state of `count` ids behind a sequence's own. False if there is none. */
  reserve(sequence: ProposedSequence, count: number): boolean;
}

/** A sequence that waits for up to `maxIds` drafts, and those that it has. */
export interface AskedDrafts {
  readonly sequence: ProposedSequence;
  readonly maxIds: number;
  readonly drafts: number[];
}

/**
 * Computes the drafts of all sequences that ask for them in the same turn by the same steps of the predictor. The state of
 * rejected drafts is overwritten by the step that computes the rows at their positions.
 */
export class DraftRounds<A extends AskedDrafts> {
  readonly #setup: PredictorSetup;
  /** Runs the steps and adds to the drafts of each sequence, of which there is one at least. */
  readonly #compute: (on: PredictorTarget, asked: readonly A[]) => Promise<void>;
  #asked: { readonly of: A; readonly answer: (drafts: readonly number[]) => void }[] = [];
  #underWay: Promise<void> = Promise.resolve();

  constructor(setup: PredictorSetup, compute: (on: PredictorTarget, asked: readonly A[]) => Promise<void>) {
    this.#setup = setup;
    this.#compute = compute;
  }

  /** Resolves when it has nothing on the device. Never rejects. */
  idle(): Promise<void> {
    return this.#underWay;
  }

  /** The drafts of a sequence, once they are computed. Never rejects. */
  ask(of: A): Promise<readonly number[]> {
    return new Promise((answer) => {
      this.#asked.push({ of, answer });
      // The other sequences of the step ask in the same turn.
      if (this.#asked.length === 1) this.#underWay = this.#underWay.then(() => this.#answer());
    });
  }

  /** Answers everything asked so far, with the drafts that are there if others cannot be computed. Never rejects. */
  async #answer(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    const { reserve, target } = this.#setup;
    const rows = asked.map(({ of }) => of).filter(({ sequence, maxIds }) => reserve(sequence, maxIds));
    const on = target();
    try {
      if (on && rows.length > 0) await this.#compute(on, rows);
    } catch {
      // The device's error also fails the next step, which reports it.
    }
    for (const { of, answer } of asked) answer(of.drafts);
  }
}

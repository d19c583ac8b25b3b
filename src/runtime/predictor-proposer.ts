import { SAMPLING_ROW_WORDS } from '../ops/sampling/sampling-row.ts';
import type { Follower, Prediction, ProposedSequence, Proposer } from '../scheduler/proposer.ts';
import type { SequenceState } from '../state/sequence-state.ts';
import type { Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';

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

/** A sequence that waits for more drafts than its step predicted. */
interface Asked {
  readonly sequence: ProposedSequence;
  readonly prediction: Prediction;
  readonly maxIds: number;
  readonly drafts: number[];
  readonly answer: (drafts: readonly number[]) => void;
}

/**
 * Proposes what the model's own block for multi-token prediction samples. The step that samples a sequence's id also
 * predicts the next one; further ones come from steps of the predictor alone, each of which reads the result of the
 * previous one. All sequences of a step ask for them together. The state of rejected drafts is overwritten by the step
 * that computes the rows at their positions.
 */
export class PredictorProposer implements Proposer {
  readonly #setup: PredictorSetup;
  #asked: Asked[] = [];
  #underWay: Promise<void> = Promise.resolve();

  constructor(setup: PredictorSetup) {
    this.#setup = setup;
  }

  follow(sequence: ProposedSequence): Follower {
    const propose = (maxIds: number) => {
      const { prediction } = sequence;
      if (!prediction || prediction.id < 0 || maxIds === 0) return [];
      const isLatest = prediction.step === this.#setup.latestStep();
      return maxIds === 1 || !isLatest ? [prediction.id] : this.#ask(sequence, prediction, maxIds);
    };
    return { holdsSteps: true, propose, leave: () => {} };
  }

  /** Resolves when it has nothing on the device. Never rejects. */
  idle(): Promise<void> {
    return this.#underWay;
  }

  #ask(sequence: ProposedSequence, prediction: Prediction, maxIds: number): Promise<readonly number[]> {
    return new Promise((answer) => {
      this.#asked.push({ sequence, prediction, maxIds, drafts: [prediction.id], answer });
      // The other sequences of the step ask in the same turn.
      if (this.#asked.length === 1) this.#underWay = this.#underWay.then(() => this.#answer());
    });
  }

  /** Answers everything asked so far, with the first drafts alone if the rest cannot be computed. Never rejects. */
  async #answer(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    const { reserve, target } = this.#setup;
    // Rows keep their index from step to step while sequences drop out at the end.
    const rows = asked
      .filter(({ sequence, maxIds }) => reserve(sequence, maxIds))
      .toSorted((a, b) => b.maxIds - a.maxIds);
    const on = target();
    try {
      if (on && rows.length > 0) await this.#chain(on, rows);
    } catch {
      // The device's error also fails the next step, which reports it.
    }
    for (const { drafts, answer } of asked) answer(drafts);
  }

  /** Runs as many steps of the predictor as the first row asks for, and reads the drafts of all of them. */
  async #chain({ plan, stream }: PredictorTarget, rows: readonly Asked[]): Promise<void> {
    const found: { readonly count: number; readonly drafts: Int32Array; readonly done: Promise<void> }[] = [];
    const most = (rows[0]?.maxIds ?? 1) - 1;
    for (let step = 0; step < most; step++) {
      const going = rows.filter(({ maxIds }) => maxIds - 1 > step);
      const batch = plan.planFor(going.length, going.length);
      const input = batch.input(plan.setup.inFlight + step);
      input.vectors.clear();
      input.view('counts').set([going.length, going.length]);
      for (const [row, { sequence, prediction }] of going.entries()) {
        const position = sequence.ids.length - 1 + step;
        input.view('positions')[row] = position;
        input.view('slots')[row] = sequence.place.slot;
        input.view('output_rows')[row] = row;
        input.writeNext(row, step === 0 ? prediction.id : -1 - row, position + 1);
        input.view('hidden_rows')[row] = step === 0 ? prediction.row : row;
        plan.kept.write('parameters', row * SAMPLING_ROW_WORDS, sequence.sampling);
        plan.writeTables(this.#setup.state, sequence.place.slot);
      }
      await plan.run({ stream, batch, kind: 'chain', input });
      const drafts = new Int32Array(going.length);
      const done = stream.download(plan.result('drafts'), new Uint8Array(drafts.buffer));
      done.catch(() => {});
      found.push({ count: going.length, drafts, done });
    }
    for (const { count, drafts, done } of found) {
      await done;
      for (let row = 0; row < count; row++) addDraft((rows[row] as Asked).drafts, drafts[row] as number);
    }
  }
}

/** A draft behind one that could not be sampled means nothing. */
function addDraft(drafts: number[], id: number): void {
  if (id >= 0 && (drafts.at(-1) ?? -1) >= 0) drafts.push(id);
}

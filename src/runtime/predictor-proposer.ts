import { SAMPLING_ROW_WORDS } from '../ops/sampling/sampling-row.ts';
import type { Follower, Prediction, ProposedSequence, Proposer } from '../scheduler/proposer.ts';
import { type AskedDrafts, DraftRounds, type PredictorSetup, type PredictorTarget } from './draft-rounds.ts';

/** A sequence that waits for more drafts than its step predicted. */
interface Asked extends AskedDrafts {
  readonly prediction: Prediction;
}

/**
 * Proposes what the model's own block for multi-token prediction samples. The step that samples a sequence's id also
 * predicts the next one; further ones come from steps of the predictor alone, each of which reads the result of the
 * previous one.
 */
export class PredictorProposer implements Proposer {
  readonly #setup: PredictorSetup;
  readonly #rounds: DraftRounds<Asked>;

  constructor(setup: PredictorSetup) {
    this.#setup = setup;
    this.#rounds = new DraftRounds(setup, (on, asked) => this.#chain(on, asked));
  }

  follow(sequence: ProposedSequence): Follower {
    const propose = (maxIds: number) => {
      const { prediction } = sequence;
      if (!prediction || prediction.id < 0 || maxIds === 0) return [];
      const drafts = [prediction.id];
      const isLatest = prediction.step === this.#setup.latestStep();
      if (maxIds === 1 || !isLatest) return drafts;
      return this.#rounds.ask({ sequence, prediction, maxIds, drafts });
    };
    return { holdsSteps: true, propose, leave: () => {} };
  }

  /** Resolves when it has nothing on the device. Never rejects. */
  idle(): Promise<void> {
    return this.#rounds.idle();
  }

  /** Runs as many steps of the predictor as the longest row asks for, and reads the drafts of all of them. */
  async #chain({ plan, stream }: PredictorTarget, asked: readonly Asked[]): Promise<void> {
    const found: { readonly count: number; readonly drafts: Int32Array; readonly done: Promise<void> }[] = [];
    // Rows keep their index from step to step while sequences drop out at the end.
    const rows = asked.toSorted((a, b) => b.maxIds - a.maxIds);
    const most = (rows[0]?.maxIds ?? 1) - 1;
    for (let step = 0; step < most; step++) {
      const going = rows.filter(({ maxIds }) => maxIds - 1 > step);
      const batch = plan.planFor(going.length, going.length);
      const input = batch.input(plan.setup.inFlight + step);
      input.vectors.clear();
      input.view('counts').set([going.length, going.length]);
      input.clearSlotRows();
      for (const [row, { sequence, prediction }] of going.entries()) {
        const last = sequence.ids.length - 1;
        const position = last + step;
        // What attends to the model's caches alone does so from the last position that they have.
        input.view('positions')[row] = plan.setup.attendsFromEnd ? last - 1 : position;
        input.view('draft_positions')[row] = last;
        input.view('slots')[row] = sequence.place.slot;
        input.addSlotRows(sequence.place.slot, row, 1);
        input.view('output_rows')[row] = row;
        input.writeNext(row, step === 0 ? prediction.id : -1 - row, position + 1);
        input.view('hidden_rows')[row] = step === 0 ? prediction.row : row;
        plan.kept.write('parameters', row * SAMPLING_ROW_WORDS, sequence.sampling);
        plan.writeTables(this.#setup.state, sequence.place.slot);
      }
      await plan.run({ stream, batch, kind: 'drafts', input });
      const drafts = new Int32Array(going.length);
      const done = stream.download(plan.result('drafts'), new Uint8Array(drafts.buffer));
      done.catch(() => {});
      found.push({ count: going.length, drafts, done });
    }
    for (const { count, drafts, done } of found) {
      await done;
      for (let row = 0; row < count; row++) addDraft((rows[row] as Asked).drafts, drafts[row]);
    }
  }
}

/** A draft behind one that could not be sampled means nothing. */
function addDraft(drafts: number[], id: number | undefined): void {
  if (id !== undefined && id >= 0 && (drafts.at(-1) ?? -1) >= 0) drafts.push(id);
}

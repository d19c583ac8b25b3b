import { SAMPLING_ROW_WORDS } from '../ops/sampling/sampling-row.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import type { Follower, ProposedSequence, Proposer } from '../scheduler/proposer.ts';
import { type AskedDrafts, DraftRounds, type PredictorSetup, type PredictorTarget } from './draft-rounds.ts';

type StepInputs = Parameters<ExecutionPlan['run']>[0]['input'];

/**
 * Proposes what a drafter samples in the place of masks (DFlash): one step of the drafter alone guesses all drafts of all
 * sequences. Its rows are, for each sequence, the last token and a mask for each draft, which attend to each other and to
 * what the drafter's layers keep of the positions before.
 */
export class MaskProposer implements Proposer {
  readonly #setup: PredictorSetup;
  readonly #mask: number;
  readonly #rounds: DraftRounds<AskedDrafts>;

  constructor(setup: PredictorSetup, mask: number) {
    this.#setup = setup;
    this.#mask = mask;
    this.#rounds = new DraftRounds(setup, (on, asked) => this.#fill(on, asked));
  }

  follow(sequence: ProposedSequence): Follower {
    const propose = (maxIds: number) =>
      maxIds === 0 ? [] : this.#rounds.ask({ sequence, maxIds, drafts: [] });
    return { holdsSteps: true, propose, leave: () => {} };
  }

  /** Resolves when it has nothing on the device. Never rejects. */
  idle(): Promise<void> {
    return this.#rounds.idle();
  }

  async #fill({ plan, stream }: PredictorTarget, asked: readonly AskedDrafts[]): Promise<void> {
    const outputs = asked.reduce((sum, { maxIds }) => sum + maxIds, 0);
    const rows = outputs + asked.length;
    const batch = plan.planFor(rows, outputs);
    const input = batch.input(plan.setup.inFlight);
    input.vectors.clear();
    input.view('counts').set([rows, outputs]);
    input.clearSlotRows();
    let output = 0;
    for (const [before, { sequence, maxIds }] of asked.entries()) {
      this.#writeBlock(input, { sequence, maxIds, row: output + before });
      for (let draft = 1; draft <= maxIds; draft++, output++) {
        input.view('output_rows')[output] = output + before + 1;
        plan.kept.write('parameters', output * SAMPLING_ROW_WORDS, sequence.sampling);
      }
      plan.writeTables(this.#setup.state, sequence.place.slot);
    }
    await plan.run({ stream, batch, kind: 'drafts', input });
    const found = new Int32Array(outputs);
    await stream.download(plan.result('drafts'), new Uint8Array(found.buffer));
    let at = 0;
    for (const { maxIds, drafts } of asked) {
      const guessed = found.subarray(at, (at += maxIds));
      const end = guessed.findIndex((id) => id < 0);
      // A draft behind one that could not be sampled means nothing.
      drafts.push(...(end < 0 ? guessed : guessed.subarray(0, end)));
    }
  }

  /** Writes the rows of a sequence's block from `row` on: its last token, whose position is not computed yet, and masks. */
  #writeBlock(
    input: StepInputs,
    {
      sequence,
      maxIds,
      row,
    }: { readonly sequence: ProposedSequence; readonly maxIds: number; readonly row: number },
  ): void {
    const first = sequence.ids.length - 1;
    // Rows behind the last sequence's, which a recorded step may have, count as its own.
    input.view('slots').fill(sequence.place.slot, row);
    input.view('causal_limits').fill(first + maxIds, row);
    input.addSlotRows(sequence.place.slot, row, maxIds + 1);
    for (let at = 0; at <= maxIds; at++) {
      input.writeId(row + at, at === 0 ? (sequence.ids[first] as number) : this.#mask, undefined);
      input.view('positions')[row + at] = first + at;
      // A mask is the token that the model samples at the position before.
      input.view('sampled_positions')[row + at] = Math.max(0, first + at - 1);
    }
  }
}

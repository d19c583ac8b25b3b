import { invariant } from '../../base/errors.ts';
import type { Stream } from '../../device/index.ts';
import type { BatchPlan, StepKind } from '../../plan/steps/batch-plan.ts';
import type { ExecutionPlan } from '../../plan/execution-plan.ts';
import type { SequenceState } from '../../state/sequence-state.ts';
import { SAMPLING_ROW_WORDS } from '../../ops/sampling/sampling-row.ts';
import type { Slice, ScheduledStep } from '../../scheduler/continuous-batcher.ts';
import type { Prediction } from '../../scheduler/proposer.ts';
import { HostSampler } from './host-sampler.ts';
import { Job } from './job.ts';
import type { JobSequence } from './job-sequence.ts';
import type { RuntimeOptions } from './runtime-options.ts';
import type { SampledToken } from './sampled-token.ts';
import type { StepProfile } from './step-profile.ts';

/** What the rows of a step sampled. */
export interface Sampled<S> {
  /** The token of the slice's sampling row at `index`. */
  sampled(slice: Slice<S>, index: number): SampledToken;
  /** What the model's predictor says behind that row; undefined if the step did not predict. */
  prediction(slice: Slice<S>, index: number): Prediction | undefined;
}

/** Numbers of submitted steps, and of bytes uploaded and read back. */
export interface PipelineCounts {
  steps: number;
  bytesUp: number;
  bytesBack: number;
}

/** What a pipeline runs on. */
export interface PipelineSetup {
  readonly plan: ExecutionPlan;
  readonly state: SequenceState;
  readonly stream: Stream;
  readonly runtime: RuntimeOptions;
  readonly profile?: StepProfile | undefined;
  /** Counts what it does. */
  readonly counts: PipelineCounts;
}

/**
 * Keeps several steps in flight on one stream: one step's inputs are written while another runs, and its tokens are
 * read while the next one runs.
 */
export class JobPipeline<S extends JobSequence> implements Disposable {
  readonly #setup: PipelineSetup;
  readonly #sampler: HostSampler | undefined;
  /** Created for the first sequence that is sampled on the host. */
  #chains: HostSampler | undefined;
  readonly #free: Job<S>[];
  readonly #underWay: Job<S>[] = [];
  /** When the latest step was done. */
  #doneAt = 0;

  constructor(setup: PipelineSetup) {
    const { plan, runtime } = setup;
    this.#setup = setup;
    this.#sampler = runtime.sampling === 'host' ? new HostSampler(plan.vocabulary) : undefined;
    const samplers = {
      all: this.#sampler,
      chains: () => (this.#chains ??= new HostSampler(plan.vocabulary)),
    };
    this.#free = Array.from({ length: plan.setup.inFlight }, (_, index) => new Job<S>(index, plan, samplers));
  }

  /**
   * True while no further step can be queued. With streamed layers, queueing takes as long as a step, so the previous
   * results are read first.
   */
  get isFull(): boolean {
    return this.#free.length === 0 || (this.#setup.plan.isStreamed && !this.isEmpty);
  }

  get isEmpty(): boolean {
    return this.#underWay.length === 0;
  }

  /**
   * Writes a step's inputs and queues it; `begin` is when it was requested. Rejects if weights cannot be loaded or the
   * step cannot be recorded.
   */
  async submit(step: ScheduledStep<S>, begin: number): Promise<void> {
    const { plan, stream, runtime, profile } = this.#setup;
    const batch = plan.planFor(step.capacity, step.outputs);
    const readsLogits = this.#sampler !== undefined && step.outputs > 0;
    const kind = this.#kindOf(step);
    const job = this.#free.pop();
    invariant(job, 'a job is free');
    const { uploadedBytes } = plan.kept;
    job.step = step;
    job.submittedAt = performance.now();
    this.#underWay.push(job);
    this.#writeInputs(batch, job);
    if (profile) job.time(profile, begin, stream);
    if (!this.#sampler) job.uploadMasks(stream);
    plan.states.copySlots(stream, this.#setup.state.takeCopies());
    const input = batch.input(job.index);
    await plan.run({ stream, batch, kind, input, awaitsInputs: !runtime.asyncInputs, watch: profile && job });
    if (readsLogits) job.readLogits(stream);
    else job.readTokens(stream);
    this.#setup.counts.steps++;
    if (kind === 'predict') job.readDrafts(stream, input.view('output_rows'), this.#setup.counts.steps);
    job.queued(stream);
    this.#setup.counts.bytesUp += input.pinned.byteLength + plan.kept.uploadedBytes - uploadedBytes;
    this.#setup.counts.bytesBack += job.bytesBack;
  }

  /**
   * Waits for the oldest step and delivers what its sequences sampled; returns the time it took after the previous one.
   * Rejects with the device's error.
   */
  async complete(
    deliver: (slice: Slice<S>, from: Sampled<S>) => void,
  ): Promise<{ step: ScheduledStep<S>; ms: number }> {
    const job = this.#underWay[0];
    invariant(job, 'a job is under way');
    await job.done;
    const { profile } = this.#setup;
    const arrived = performance.now();
    const ms = arrived - Math.max(job.submittedAt, this.#doneAt);
    this.#doneAt = arrived;
    for (const slice of job.step.slices) {
      if (slice.output >= 0) deliver(slice, job);
    }
    if (profile) {
      const { rows } = job.step;
      profile.add('back', arrived, performance.now(), { rows, bytes: job.bytesBack, lane: job.index });
      void job.report(profile, arrived);
    }
    this.#underWay.shift();
    this.#free.push(job);
    return { step: job.step, ms };
  }

  /** Waits until all steps in flight have ended, even with errors, and returns them. */
  async drain(): Promise<ScheduledStep<S>[]> {
    await Promise.allSettled(this.#underWay.map(({ done }) => done));
    const dropped = this.#underWay.splice(0);
    this.#free.push(...dropped);
    return dropped.map(({ step }) => step);
  }

  [Symbol.dispose](): void {
    for (const job of this.#free) job[Symbol.dispose]();
  }

  #kindOf({ outputs, slices }: ScheduledStep<S>): StepKind {
    if (this.#sampler || outputs === 0) return 'forward';
    const predicts = slices.some(({ output, sequence }) => output >= 0 && sequence.wantsPrediction);
    return predicts && this.#setup.plan.predicts ? 'predict' : 'generate';
  }

  #writeInputs(plan: BatchPlan, { index, step }: Job<S>): void {
    const { state } = this.#setup;
    const input = plan.input(index);
    input.vectors.clear();
    const positions = input.view('positions');
    const slots = input.view('slots');
    const counts = input.view('counts');
    const { kept, setup, predicts } = this.#setup.plan;
    const { adaptersARow = 0 } = setup;
    counts[0] = step.rows;
    counts[1] = step.outputs;
    input.clearSlotRows();
    let row = 0;
    for (const { sequence, slot, first, count, output, outputs, sampled } of step.slices) {
      const { ids: known, draftIds, vectors } = sequence;
      input.addSlotRows(slot, row, count);
      for (let i = 0; i < count; i++, row++) {
        const at = first + i;
        const id = known[at] ?? (sampled >= 0 ? -1 - sampled : (draftIds[at - known.length] as number));
        input.writeId(row, id, at < known.length ? vectors?.get(id) : undefined);
        positions[row] = first + i;
        slots[row] = slot;
        if (predicts) {
          // The token at the next position, or a reference to the one that this row samples.
          const next = known[at + 1] ?? -1 - (output + i - (count - outputs));
          input.writeNext(row, next, Math.min(at + 1, state.context - 1));
        }
        if (adaptersARow > 0) input.writeAdapters(row, adaptersARow, sequence.adapters ?? []);
      }
      this.#setup.plan.writeTables(state, slot);
      for (let i = 0; i < outputs; i++) {
        input.view('output_rows')[output + i] = row - outputs + i;
        kept.write('parameters', (output + i) * SAMPLING_ROW_WORDS, sequence.sampling);
      }
    }
  }
}

import { invariant } from '../base/errors.ts';
import type { Stream } from '../device/index.ts';
import type { BatchPlan } from '../model/batch-plan.ts';
import type { ExecutionPlan } from '../model/execution-plan.ts';
import type { SequenceState } from '../model/sequence-state.ts';
import { MAX_LOG_PROBABILITIES, SAMPLING_ROW_WORDS } from '../ops/sampling/sampling-row.ts';
import type { Slice, StepPlan } from './continuous-batcher.ts';
import { readReport, type SampledToken } from './sampled-token.ts';

/** What a job needs of a sequence. */
export interface JobSequence {
  readonly ids: readonly number[];
  /** Its row of sampling parameters. */
  readonly sampling: Int32Array;
  /** Most likely tokens reported beside a sampled one; -1 reports none and not even the sampled one's. */
  readonly alternatives: number;
}

const REPORT_WIDTH = 2 * (1 + MAX_LOG_PROBABILITIES);

function nothing(): void {}

/** A step under way: what it computes, where its inputs wait, and what it sampled once `done` has resolved. */
class Job<S extends JobSequence> {
  readonly #tokens: Int32Array;
  readonly #report: Float32Array;
  step: StepPlan<S> = { slices: [], rows: 0, outputs: 0, capacity: 0 };
  done: Promise<void> = Promise.resolve();

  constructor(
    readonly index: number,
    outputs: number,
  ) {
    this.#tokens = new Int32Array(outputs);
    this.#report = new Float32Array(outputs * REPORT_WIDTH);
  }

  /** What an output row sampled. */
  sampled(slice: Slice<S>): SampledToken {
    const { output, sequence } = slice;
    if (sequence.alternatives < 0) {
      return { id: this.#tokens[output] as number, logProbability: undefined, alternatives: [] };
    }
    const row = this.#report.subarray(output * REPORT_WIDTH, (output + 1) * REPORT_WIDTH);
    return readReport(row, sequence.alternatives);
  }

  /** Queues what brings the sampled tokens back: 4 bytes a sequence, and reports where somebody wants them. */
  readBack(stream: Stream, plan: ExecutionPlan): void {
    const { outputs, slices } = this.step;
    if (outputs === 0) {
      this.done = stream.record().completed();
    } else {
      const tokens = new Uint8Array(this.#tokens.buffer, 0, 4 * outputs);
      this.done = stream.download(plan.result('tokens'), tokens);
      if (slices.some(({ sequence }) => sequence.alternatives >= 0)) {
        const report = new Uint8Array(this.#report.buffer, 0, 4 * REPORT_WIDTH * outputs);
        const both = Promise.all([this.done, stream.download(plan.result('report'), report)]);
        this.done = both.then(nothing);
      }
    }
    // Whoever waits for the step sees its error; a later step's is the same one.
    this.done.catch(nothing);
  }
}

/**
 * Keeps several steps under way on one stream: the small inputs of one are written while another runs, and what a step
 * sampled is read while the next one runs.
 */
export class JobPipeline<S extends JobSequence> {
  readonly #plan: ExecutionPlan;
  readonly #state: SequenceState;
  readonly #stream: Stream;
  readonly #free: Job<S>[];
  readonly #underWay: Job<S>[] = [];

  constructor(of: { plan: ExecutionPlan; state: SequenceState; stream: Stream }) {
    this.#plan = of.plan;
    this.#state = of.state;
    this.#stream = of.stream;
    const { inFlight, shape } = of.plan.parts;
    this.#free = Array.from({ length: inFlight }, (_, index) => new Job<S>(index, shape.outputs));
  }

  get isFull(): boolean {
    return this.#free.length === 0;
  }

  get isEmpty(): boolean {
    return this.#underWay.length === 0;
  }

  /** Writes a step's inputs and queues it. Rejects when weights cannot be loaded or the step cannot be recorded. */
  async submit(step: StepPlan<S>): Promise<void> {
    const plan = this.#plan.planFor(step.capacity, step.outputs);
    const kind = step.outputs > 0 ? 'generate' : 'forward';
    const job = this.#free.pop();
    invariant(job, 'a job is free');
    job.step = step;
    this.#underWay.push(job);
    this.#writeInputs(plan, job);
    await this.#plan.run({ stream: this.#stream, batch: plan, kind, input: plan.input(job.index) });
    job.readBack(this.#stream, this.#plan);
  }

  /** Waits for the oldest step and hands out what its sequences sampled. Rejects with the device's error. */
  async complete(deliver: (sequence: S, token: SampledToken) => void): Promise<void> {
    const job = this.#underWay[0];
    invariant(job, 'a job is under way');
    await job.done;
    for (const slice of job.step.slices) {
      if (slice.output >= 0) deliver(slice.sequence, job.sampled(slice));
    }
    this.#underWay.shift();
    this.#free.push(job);
  }

  /** Waits for all steps, come what may, and forgets them; gives what they were. */
  async drain(): Promise<StepPlan<S>[]> {
    await Promise.allSettled(this.#underWay.map(({ done }) => done));
    const dropped = this.#underWay.splice(0);
    this.#free.push(...dropped);
    return dropped.map(({ step }) => step);
  }

  #writeInputs(plan: BatchPlan, { index, step }: Job<S>): void {
    const input = plan.input(index);
    const ids = input.view('ids');
    const positions = input.view('positions');
    const slots = input.view('slots');
    const blocks = input.view('blocks');
    const width = plan.shape.blocksPerSlot;
    const counts = input.view('counts');
    counts[0] = step.rows;
    counts[1] = step.outputs;
    let row = 0;
    for (const { sequence, slot, first, count, output, sampled } of step.slices) {
      for (let i = 0; i < count; i++, row++) {
        ids[row] = sequence.ids[first + i] ?? -1 - sampled;
        positions[row] = first + i;
        slots[row] = slot;
      }
      this.#state.writeBlocks(slot, blocks.subarray(slot * width, (slot + 1) * width));
      if (output < 0) continue;
      input.view('output_rows')[output] = row - 1;
      input.view('parameters').set(sequence.sampling, output * SAMPLING_ROW_WORDS);
    }
  }
}

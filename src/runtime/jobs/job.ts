import { BUFFER_ALIGNMENT, type DeviceEvent, type PinnedBuffer, type Stream } from '../../device/index.ts';
import type { ExecutionPlan } from '../../plan/execution-plan.ts';
import type { RunWatch } from '../../plan/steps/plan-run.ts';
import { MAX_LOG_PROBABILITIES, maskWords } from '../../ops/sampling/sampling-row.ts';
import type { Slice, ScheduledStep } from '../../scheduler/continuous-batcher.ts';
import type { HostSampler } from './host-sampler.ts';
import type { Prediction } from '../../scheduler/proposer.ts';
import type { JobSequence } from './job-sequence.ts';
import { readReport, type SampledToken } from './sampled-token.ts';
import type { StepProfile } from './step-profile.ts';

const REPORT_WIDTH = 2 * (1 + MAX_LOG_PROBABILITIES);

function nothing(): void {}

/** Masks of a job's output rows in pinned memory. */
class PinnedMasks implements Disposable {
  readonly #pinned: PinnedBuffer;
  readonly #words: Int32Array;
  readonly #width: number;

  constructor(plan: ExecutionPlan) {
    this.#width = maskWords(plan.vocabulary);
    this.#pinned = plan.setup.device.createPinned(4 * this.#width * plan.shape.outputs, 'masks');
    const { buffer, byteOffset } = this.#pinned.bytes;
    this.#words = new Int32Array(buffer, byteOffset, this.#width * plan.shape.outputs);
  }

  /** Stores an output row's mask; returns the bytes to upload. */
  write(output: number, mask: Int32Array): Uint8Array {
    this.#words.set(mask, output * this.#width);
    return this.#pinned.bytes.subarray(4 * output * this.#width, 4 * (output + 1) * this.#width);
  }

  [Symbol.dispose](): void {
    this.#pinned[Symbol.dispose]();
  }
}

/** A step in flight: what it computes, the pinned memory of its inputs, and what it sampled once `done` has resolved. */
export class Job<S extends JobSequence> implements RunWatch, Disposable {
  readonly #plan: ExecutionPlan;
  /** Samples all rows, if all logits are read back. */
  readonly #sampler: HostSampler | undefined;
  /** The sampler of sequences that sample on the host. */
  readonly #chains: () => HostSampler;
  readonly #tokens: Int32Array;
  /** The drafts of the model's predictor, and the rows that they belong to. */
  readonly #drafts: Int32Array;
  readonly #draftRows: Int32Array;
  #drafted = -1;
  readonly #report: Float32Array;
  /** Created for the first mask. */
  #masks: PinnedMasks | undefined;
  /** Created for the first step whose logits are read back. */
  #logits: Float32Array | undefined;
  /** The logits of output rows that are sampled by chains, and memory for them. */
  readonly #chainLogits = new Map<number, Float32Array>();
  readonly #chainRows: Float32Array[] = [];
  #times: { begin: number; written: number; ready: number; queued: number; follows: boolean } | undefined;
  #wasRecorded: boolean | undefined;
  #begin: DeviceEvent | undefined;
  #end: DeviceEvent | undefined;
  step: ScheduledStep<S> = { slices: [], rows: 0, outputs: 0, capacity: 0 };
  done: Promise<void> = Promise.resolve();
  /** Bytes read back. */
  bytesBack = 0;
  /** When the step was handed to the device. */
  submittedAt = 0;

  constructor(
    readonly index: number,
    plan: ExecutionPlan,
    { all, chains }: { all: HostSampler | undefined; chains: () => HostSampler },
  ) {
    this.#plan = plan;
    this.#sampler = all;
    this.#chains = chains;
    this.#tokens = new Int32Array(plan.shape.outputs);
    this.#drafts = new Int32Array(plan.predicts ? plan.shape.outputs : 0);
    this.#draftRows = new Int32Array(this.#drafts.length);
    this.#report = new Float32Array(plan.shape.outputs * REPORT_WIDTH);
  }

  /** The token that the slice's sampling row at `index` sampled. */
  sampled({ output: first, sequence }: Slice<S>, index: number): SampledToken {
    const output = first + index;
    const sampler = this.#sampler;
    if (sampler && this.#logits) {
      const { vocabulary } = this.#plan;
      const logits = this.#logits.subarray(output * vocabulary, (output + 1) * vocabulary);
      return sampler.sample(sequence, logits);
    }
    const chained = this.#chainLogits.get(output);
    if (chained) return this.#chains().sample(sequence, chained);
    if (sequence.alternatives < 0) {
      return { id: this.#tokens[output] as number, logProbability: undefined, alternatives: [] };
    }
    const row = this.#report.subarray(output * REPORT_WIDTH, (output + 1) * REPORT_WIDTH);
    return readReport(row, sequence.alternatives);
  }

  /** What the model's predictor says behind the slice's sampling row at `index`; undefined if the step did not predict. */
  prediction({ output }: Slice<S>, index: number): Prediction | undefined {
    if (this.#drafted < 0) return undefined;
    const at = output + index;
    return { id: this.#drafts[at] as number, row: this.#draftRows[at] as number, step: this.#drafted };
  }

  /**
   * Queues the upload of the token masks of constrained rows before the step; the previous step may still read the
   * slots' earlier ones.
   */
  uploadMasks(stream: Stream): void {
    for (const { sequence, slot, output } of this.step.slices) {
      if (output < 0 || !sequence.mask) continue;
      this.#masks ??= new PinnedMasks(this.#plan);
      stream.upload(this.#masks.write(output, sequence.mask), this.#plan.mask(slot));
    }
  }

  /** Queues the download of the drafts behind the output rows, which are `rows` of step number `step`. */
  readDrafts(stream: Stream, rows: Int32Array, step: number): void {
    const { outputs } = this.step;
    this.#drafted = step;
    this.#draftRows.set(rows.subarray(0, outputs));
    const bytes = new Uint8Array(this.#drafts.buffer, 0, 4 * outputs);
    this.bytesBack += bytes.byteLength;
    const drafts = stream.download(this.#plan.result('drafts'), bytes);
    this.done = Promise.all([this.done, drafts]).then(nothing);
    this.done.catch(nothing);
  }

  /**
   * Queues the download of the sampled tokens: 4 bytes per sequence, log probabilities if requested, and the logits of
   * sequences that are sampled on the host.
   */
  readTokens(stream: Stream): void {
    this.#drafted = -1;
    const { outputs, slices } = this.step;
    this.bytesBack = 4 * outputs;
    this.#chainLogits.clear();
    if (outputs === 0) {
      this.done = stream.record().completed();
    } else {
      const tokens = new Uint8Array(this.#tokens.buffer, 0, 4 * outputs);
      const reads = [stream.download(this.#plan.result('tokens'), tokens)];
      if (slices.some(({ sequence }) => !sequence.chain && sequence.alternatives >= 0)) {
        const report = new Uint8Array(this.#report.buffer, 0, 4 * REPORT_WIDTH * outputs);
        this.bytesBack += report.byteLength;
        reads.push(stream.download(this.#plan.result('report'), report));
      }
      for (const { sequence, output } of slices) {
        if (output >= 0 && sequence.chain) reads.push(this.#readChainLogits(stream, output));
      }
      const [only = Promise.resolve()] = reads;
      this.done = reads.length === 1 ? only : Promise.all(reads).then(nothing);
    }
    // Those who wait for the step see its error; a later step fails with the same one.
    this.done.catch(nothing);
  }

  /** Queues the download of an output row's logits. Such a sequence has no draft ids, and so one row. */
  #readChainLogits(stream: Stream, output: number): Promise<void> {
    const { vocabulary } = this.#plan;
    const { buffer, offset } = this.#plan.result('logits');
    const first = offset + 4 * vocabulary * output;
    // Ranges begin aligned: what is before the row is read, too.
    const begin = first - (first % BUFFER_ALIGNMENT);
    const place = this.#chainLogits.size;
    const row = (this.#chainRows[place] ??= new Float32Array(vocabulary + BUFFER_ALIGNMENT / 4));
    const before = (first - begin) / 4;
    this.#chainLogits.set(output, row.subarray(before, before + vocabulary));
    const byteLength = 4 * (before + vocabulary);
    this.bytesBack += byteLength;
    return stream.download({ buffer, offset: begin, byteLength }, new Uint8Array(row.buffer, 0, byteLength));
  }

  /** Queues the download of the logits of all output rows. */
  readLogits(stream: Stream): void {
    const { outputs } = this.step;
    const { vocabulary, shape } = this.#plan;
    this.#logits ??= new Float32Array(shape.outputs * vocabulary);
    const bytes = new Uint8Array(this.#logits.buffer, 0, 4 * vocabulary * outputs);
    this.bytesBack = bytes.byteLength;
    this.done = stream.download(this.#plan.result('logits'), bytes);
    this.done.catch(nothing);
  }

  /** Starts measuring; `begin` is when the step was requested. */
  time(profile: StepProfile, begin: number, stream: Stream): void {
    const now = performance.now();
    const follows = profile.begin();
    this.#times = { begin, written: now, ready: now, queued: now, follows };
    this.#begin = stream.record();
  }

  ready(wasRecorded?: boolean): void {
    if (this.#times) this.#times.ready = performance.now();
    this.#wasRecorded = wasRecorded;
  }

  /** Records that everything is queued. */
  queued(stream: Stream): void {
    if (!this.#times) return;
    this.#times.queued = performance.now();
    this.#end = stream.record();
  }

  /** Reports the step's times; its results arrived at `arrived`. For a failed step, only those of the host. */
  async report(profile: StepProfile, arrived: number): Promise<void> {
    const [times, begin, end] = [this.#times, this.#begin, this.#end];
    if (!times || !begin || !end) return;
    const of = { rows: this.step.rows, bytes: this.bytesBack, lane: this.index };
    if (this.#wasRecorded !== undefined) profile.wanted(this.#wasRecorded);
    profile.add('dispatch', times.begin, times.written, of);
    profile.add('load', times.written, times.ready, of);
    profile.add('submit', times.ready, times.queued, of);
    profile.add('wait', times.queued, arrived, of);
    await end.completed().then(() => profile.ran(begin, end, times.follows), nothing);
  }

  [Symbol.dispose](): void {
    this.#masks?.[Symbol.dispose]();
    this.#masks = undefined;
  }
}

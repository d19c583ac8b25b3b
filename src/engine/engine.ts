import { Lifetime } from '../base/disposal.ts';
import { fail, invariant, RocmforgeError, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { ContinuousBatcher, type ScheduledStep, type Slice } from '../scheduler/continuous-batcher.ts';
import { DeviceRun, deviceNotRestored, MAX_LOSSES, likelyCulprit } from '../runtime/device-run.ts';
import type { EngineActivity, EngineCounters, EngineSetup } from './engine-setup.ts';
import type { EvaluateOptions, PositionLogits } from '../runtime/forced-logits.ts';
import type { PipelineSetup, Sampled } from '../runtime/jobs/job-pipeline.ts';
import { explainFault } from '../runtime/first-fault.ts';
import type { PredictorSetup } from '../runtime/draft-rounds.ts';
import { MaskProposer } from '../runtime/mask-proposer.ts';
import { PredictorProposer } from '../runtime/predictor-proposer.ts';
import { checkVectors } from '../runtime/prompt-items.ts';
import { type DraftedStep, DraftPace } from '../scheduler/draft-pace.ts';
import { PROMPT_LOOKUP } from '../scheduler/prompt-lookup.ts';
import { DEFAULT_RUNTIME } from '../runtime/jobs/runtime-options.ts';
import { type SequenceSnapshot, snapshotSizes } from '../runtime/sequence-snapshot.ts';
import { type Generation, tokenStream } from '../runtime/generation.ts';
import {
  type ContextShift,
  type GenerateRequest,
  Sequence,
  type SequenceSink,
  type TokenStream,
} from '../runtime/sequence.ts';
import { TextQueue, type TextRequest } from '../runtime/text-queue.ts';
import { SharedLock } from '../runtime/shared-lock.ts';
import { ExclusiveUse } from '../runtime/exclusive-use.ts';
import { HeldBlocks } from '../state/held-blocks.ts';
import { SlotPool } from '../state/slot-pool.ts';
import { KV_BLOCK_SIZE } from '../model/state-groups.ts';

/** The sequences of a step that do without draft tokens. */
type Undrafted = Pick<DraftedStep, 'without' | 'never'>;

/**
 * Runs many sequences at once on an allocated and loaded plan by continuous batching; while one step runs the next is already
 * queued. Prefixes that are still cached are reused. When the device is lost and can be reopened, all sequences continue with
 * the same tokens.
 */
export class Engine implements AsyncDisposable {
  readonly #setup: EngineSetup;
  readonly #log: Logger;
  readonly #vocabulary: number;
  readonly #slots: SlotPool;
  readonly #batcher: ContinuousBatcher<Sequence>;
  readonly #sequences = new Set<Sequence>();
  /** Sequences with non-finite logits whose error has yet to be explained. */
  readonly #faulty = new Set<Sequence>();
  readonly #lock = new SharedLock();
  readonly #exclusive: ExclusiveUse;
  readonly #texts: TextQueue;
  /** Runs the model's own predictor, if its plan has one. */
  readonly #predictor: PredictorProposer | MaskProposer | undefined;
  readonly #pace: DraftPace;
  /** Of each step in flight, how many of its sequences do without draft tokens, and how many of them always do. */
  readonly #undrafted = new WeakMap<ScheduledStep<Sequence>, Undrafted>();
  readonly #isPipelined: boolean;
  readonly #pipelineSetup: Omit<PipelineSetup, 'plan' | 'stream'>;
  readonly #counts = { steps: 0, bytesUp: 0, bytesBack: 0 };
  readonly #life = new Lifetime('the engine');
  readonly #ending = new AbortController();
  /** Undefined from the loss of the device until it is needed again. */
  #run: DeviceRun<Sequence> | undefined;
  /** The error with which it was lost. */
  #loss: Error | undefined;
  /** Sequences that are waiting for their draft ids: a step waits for them, so that they run together. */
  #held = 0;
  /** Since when they wait, and the milliseconds of it before the next step. */
  #heldSince = 0;
  #heldMs = 0;
  #isDriving = false;
  #driven: Promise<void> = Promise.resolve();

  constructor(setup: EngineSetup) {
    const { plan, state, logger, profile } = setup;
    const runtime = { ...DEFAULT_RUNTIME, ...setup.runtime };
    this.#setup = setup;
    this.#isPipelined = runtime.pipelined && runtime.sampling === 'device';
    this.#pipelineSetup = { state, runtime, profile, counts: this.#counts };
    const { speculation = 0, minDraftTokens = 0 } = setup;
    const max = state.rollsBack ? speculation : 0;
    this.#pace = new DraftPace({ max, min: minDraftTokens, adapts: runtime.adaptsDrafts });
    this.#log = logger ?? silentLogger;
    this.#vocabulary = plan.tokenIds;
    const { slots } = plan.shape;
    const { onBlocks } = setup;
    const blocks = onBlocks && state.sharesPrefixes ? new HeldBlocks(slots, onBlocks) : undefined;
    this.#slots = new SlotPool(state, slots, blocks);
    if (onBlocks && !blocks) this.#log.warn('prefixes cannot be shared by this model: it reports no blocks');
    const capacities = plan.plans.map(({ shape }) => shape.rows);
    // Rows that the host looks up depend on the ids that the device samples; prompt rows do not.
    const chains = this.#isPipelined && !plan.setup.hostTables?.length;
    const pace = plan.setup.deterministic === true ? {} : runtime;
    const rules = { chains, continuous: runtime.batching === 'continuous', pace };
    this.#batcher = new ContinuousBatcher({ ...plan.shape, capacities }, this.#slots, rules);
    this.#run = new DeviceRun(setup, this.#pipelineSetup);
    if (runtime.sampling === 'device') this.#predictor = this.#predictorOf(setup);
    this.#exclusive = new ExclusiveUse({
      state,
      slots: this.#slots,
      alone: (signal) => this.#lock.alone(signal),
      check: () => this.#life.check(),
      onStep: () => {
        this.#counts.steps++;
      },
      driven: () => {
        this.#run?.ahead?.stop();
        return this.#driven;
      },
      ready: () => this.#ready(),
      survive: (run, error, losses) => this.#survive(run, error, losses),
    });
    const isWhole = plan.shape.rows >= state.context;
    this.#texts = new TextQueue((queue) => this.#exclusive.compute(queue, isWhole));
  }

  /** What runs the model's own predictor. */
  #predictorOf({ plan, state }: EngineSetup): PredictorProposer | MaskProposer | undefined {
    const of: PredictorSetup = {
      state,
      target: () => this.#run,
      latestStep: () => this.#counts.steps,
      reserve: (sequence, count) => this.#batcher.reserveAhead(sequence, count),
    };
    const { draftMask } = plan.setup;
    if (draftMask !== undefined) return new MaskProposer(of, draftMask);
    return plan.predicts ? new PredictorProposer(of) : undefined;
  }

  /** Maximum positions of a sequence. */
  get context(): number {
    return this.#setup.state.context;
  }

  /** Totals so far. */
  get counters(): EngineCounters {
    const { hits = 0, misses = 0, ahead = 0, aheadUsed = 0 } = this.#run?.plan.prepared ?? {};
    const prepared = { preparedHits: hits, preparedMisses: misses };
    const experts = this.#run?.plan.expertCounts;
    return {
      ...{ ...this.#counts, ...prepared, preparedAhead: ahead, preparedAheadUsed: aheadUsed },
      ...{ expertHits: experts?.hits ?? 0, expertMisses: experts?.misses ?? 0 },
      expertPrefetches: experts?.prefetched ?? 0,
      expertPrefetchesUsed: experts?.prefetchedUsed ?? 0,
      expertBytes: experts?.bytes ?? 0,
    };
  }

  /** Running and waiting sequences. */
  get activity(): EngineActivity {
    const { plan, state } = this.#setup;
    const { slots } = plan.shape;
    const sequences = Array.from(this.#sequences, (sequence) => sequence.activity());
    const busy = sequences.map(({ slot }) => slot).filter((slot) => slot >= 0);
    const use = state.cacheUse(busy);
    const cache = use
      ? { blockSize: KV_BLOCK_SIZE, ...use }
      : { blockSize: this.context, blocks: slots, used: busy.length };
    return { slots, context: this.context, cache, sequences };
  }

  /**
   * Yields tokens until a stop token, `next(true)`, the maximum number of tokens, or the end of the context. Rejects
   * with `PROMPT_EMPTY`, `CONTEXT_OVERFLOW`, `TOKEN_OUT_OF_RANGE`, `INVALID_ARGUMENT`, `ABORTED` or the device's error.
   */
  generate(request: GenerateRequest): TokenStream {
    return tokenStream((sink) => this.begin(request, sink));
  }

  /** Starts generating into a sink, which receives what `generate` yields, returns and rejects with. */
  begin(request: GenerateRequest, sink: SequenceSink): Generation {
    const { signal } = request;
    let sequence: Sequence | undefined;
    let unlock: (() => void) | undefined;
    let isLeft = false;
    const onAbort = () => {
      if (sequence) this.#abort(sequence, signal);
    };
    const start = async () => {
      this.#checkRequest(request);
      unlock = await this.#lock.share(signal);
      if (isLeft) return unlock();
      sequence = this.#sequence(request, sink);
      await sequence.fillMask();
      if (isLeft) return;
      throwIfAborted(signal, 'generation');
      signal?.addEventListener('abort', onAbort, { once: true });
      if (!sequence.ended) this.#add(sequence);
    };
    start().catch((error: unknown) => sink.fail(error));
    return {
      more: () => this.#drive(),
      finish: () => {
        if (sequence) this.#end(sequence);
      },
      leave: () => {
        isLeft = true;
        signal?.removeEventListener('abort', onAbort);
        if (sequence) this.#remove(sequence);
        unlock?.();
        this.rest();
      },
    };
  }

  /** Yields the logits at every position from `from` on, given all tokens up to it: forced decoding. */
  async *evaluate(
    ids: readonly number[],
    from = 0,
    { signal, adapters }: EvaluateOptions = {},
  ): AsyncGenerator<PositionLogits> {
    this.#checkPrompt(ids);
    yield* this.#exclusive.evaluate({ ids, from, signal, adapters });
  }

  /**
   * Computes the rows of a text, for a model that embeds or ranks, together with others that wait for theirs. Rejects as
   * `evaluate`.
   */
  async computeRows(request: TextRequest): Promise<void> {
    this.#checkPrompt(request.ids);
    await this.#texts.compute(request);
  }

  /** Computes `ids` and saves the state after them. Rejects as `evaluate`. */
  async save(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    this.#checkPrompt(ids);
    return this.#exclusive.save(ids, signal);
  }

  /** Saves what a slot holds from its latest sequence, once no sequence runs. Rejects with `INVALID_ARGUMENT`. */
  async saveSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot> {
    this.#checkSlot(slot);
    return this.#exclusive.saveHeld(slot, signal, tenant);
  }

  /** Evicts what a slot holds, once no sequence runs; resolves with the number of its positions. Rejects as `saveSlot`. */
  async eraseSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<number> {
    this.#checkSlot(slot);
    return this.#exclusive.erase(slot, signal, tenant);
  }

  /**
   * Restores a saved state into an idle slot, or a certain one, for a sequence whose prompt begins with its ids; call it
   * once per sequence. Rejects with `INVALID_ARGUMENT` if the state is another model's.
   */
  async restore(snapshot: SequenceSnapshot, slot?: number, tenant?: string): Promise<void> {
    this.#checkPrompt(snapshot.ids);
    this.#checkSlot(slot);
    await this.#exclusive.restore(snapshot, slot, tenant);
  }

  /** Changes weights' contents, once no sequence runs, and loads them again. Rejects as `change` throws. */
  async reload(change: () => void, isChanged: (name: string) => boolean): Promise<void> {
    this.#life.check();
    await this.#exclusive.reload(change, isChanged);
  }

  /** The sizes in bytes of the saved state of `length` positions, in the order of `SequenceSnapshot.states`. */
  snapshotSizes(length: number): number[] {
    this.#life.check();
    if (length > this.context) fail('CONTEXT_OVERFLOW', { tokens: length, context: this.context });
    return snapshotSizes(this.#setup.plan, this.#setup.state, length);
  }

  /** While idle, records steps that are likely to be needed. */
  rest(): void {
    const isIdle = !this.#isDriving && this.#sequences.size === 0 && !this.#life.disposed;
    if (isIdle) this.#run?.ahead?.begin();
  }

  /** Clears cached prefixes of ended sequences. */
  reset(): void {
    this.#slots.forget();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#life.end()) return;
    this.#ending.abort();
    this.#lock.refuse(new RocmforgeError('DISPOSED', { what: 'the engine' }));
    for (const sequence of this.#sequences) this.#abort(sequence, undefined);
    await this.#exclusive.idle();
    await this.#driven;
    await this.#predictor?.idle();
    await this.#run?.[Symbol.asyncDispose]();
    this.#slots.blocks?.clear();
  }

  #checkSlot(slot: number | undefined): void {
    this.#life.check();
    const { slots } = this.#setup.plan.shape;
    if (slot === undefined || (Number.isInteger(slot) && slot >= 0 && slot < slots)) return;
    fail('INVALID_ARGUMENT', { name: 'slot', found: `${slot}`, expected: `a slot from 0 to ${slots - 1}` });
  }

  #checkPrompt(ids: readonly number[], vectors?: GenerateRequest['vectors']): void {
    this.#life.check();
    checkIds(ids, { context: this.context, vocabulary: this.#vocabulary, vectors });
  }

  /** The shape of embedding vectors in prompts. */
  get #vectorShape() {
    const table = this.#setup.plan.setup.hostTables?.find(({ takesVectors }) => takesVectors);
    return { width: table?.width ?? 0, isOnHost: table !== undefined };
  }

  #checkRequest({ prompt, vectors, maxTokens, speculation, shift, scheduling }: GenerateRequest): void {
    this.#checkPrompt(prompt, vectors);
    this.#checkSlot(scheduling?.slot);
    if (vectors) checkVectors(vectors, this.#vectorShape);
    checkLimits({ maxTokens, speculation });
    checkShift(shift, this.context);
  }

  #sequence(request: GenerateRequest, sink: SequenceSink): Sequence {
    return new Sequence(request, {
      sink,
      context: this.context,
      vocabulary: this.#vocabulary,
      pace: this.#pace,
      proposer: this.#predictor ?? this.#setup.proposer ?? PROMPT_LOOKUP,
      log: this.#log,
    });
  }

  #add(sequence: Sequence): void {
    // The engine may have been disposed while the sequence waited its turn.
    this.#life.check();
    if (sequence.ids.length >= sequence.limit) {
      sequence.end('length');
      return;
    }
    this.#sequences.add(sequence);
    this.#batcher.add(sequence);
    this.#drive();
  }

  /** Ends a sequence whose reader wants no more. */
  #end(sequence: Sequence): void {
    this.#remove(sequence);
    sequence.stop();
  }

  #abort(sequence: Sequence, signal: AbortSignal | undefined): void {
    if (sequence.ended) return;
    this.#remove(sequence);
    try {
      throwIfAborted(signal, 'generation');
      this.#life.check();
    } catch (error) {
      sequence.fail(error);
    }
  }

  #remove(sequence: Sequence): void {
    sequence.leave();
    // A state that led to non-finite logits must not be reused.
    if (sequence.fault) sequence.place.computed = 0;
    if (this.#sequences.delete(sequence)) this.#batcher.remove(sequence);
  }

  /** Starts the steps unless they are running. */
  #drive(): void {
    if (this.#isDriving) return;
    this.#isDriving = true;
    this.#run?.ahead?.stop();
    this.#driven = this.#runSteps();
  }

  /** Submits and completes steps while there is work. Never rejects: errors go to the sequences. */
  async #runSteps(): Promise<void> {
    // Sequences that others add in the same turn are in the first step, too, instead of waiting for it.
    await Promise.resolve();
    try {
      while (this.#run || this.#sequences.size > 0) {
        const run = this.#run ?? (await this.#ready());
        try {
          if (this.#faulty.size > 0) await this.#explain(run);
          const begin = this.#setup.profile ? performance.now() : 0;
          const step = this.#takes(run) ? this.#batcher.next() : undefined;
          if (step) await this.#submit(step, run, begin);
          else if (run.pipeline.isEmpty) return;
          else await this.#complete(run);
        } catch (error) {
          this.#blame(await this.#survive(run, error), run.backend);
        }
      }
    } catch (error) {
      await this.#run?.pipeline.drain();
      for (const sequence of this.#sequences) {
        this.#remove(sequence);
        sequence.fail(error);
      }
      // The state that the failed steps should have written does not exist.
      this.#slots.forget();
    } finally {
      this.#isDriving = false;
      this.#setup.profile?.pause();
      this.rest();
    }
  }

  /** Delivers what the oldest step sampled. Rejects with the device's error. */
  async #complete({ pipeline }: DeviceRun<Sequence>): Promise<void> {
    const heldMs = this.#heldMs;
    this.#heldMs = 0;
    const { step, ms } = await pipeline.complete(this.#deliver);
    this.#batcher.measured(step, ms);
    const { slices, outputs } = step;
    for (const { sequence, output, first, count } of slices) {
      if (output < 0 && !sequence.ended) sequence.computed(first + count);
    }
    const isGenerating = slices.every((of) => of.output >= 0 && (of.count === 1 || of.outputs > 1));
    if (!isGenerating) return;
    const sequences = slices.length;
    const undrafted = this.#undrafted.get(step) ?? { without: 0, never: 0 };
    this.#pace.measured({ sequences, drafts: outputs - sequences, ...undrafted, ms: ms + heldMs });
  }

  /** True when a step may be submitted. */
  #takes({ pipeline }: DeviceRun<Sequence>): boolean {
    if (this.#held > 0) return false;
    // Sequences with predictions step together: a step queued behind theirs would overwrite what those continue from.
    const isPredicted = this.#predictor && [...this.#sequences].some((of) => of.wantsPrediction);
    return this.#isPipelined && !isPredicted ? !pipeline.isFull : pipeline.isEmpty;
  }

  /** The device, replaced if it was lost. Rejects with `DEVICE_NOT_RESTORED`. */
  async #ready(): Promise<DeviceRun<Sequence>> {
    if (this.#run) return this.#run;
    this.#life.check();
    const { restore } = this.#setup;
    invariant(restore && this.#loss, 'a device that is gone was lost and can be replaced');
    try {
      const target = await restore(this.#loss, this.#ending.signal);
      this.#run = new DeviceRun(target, this.#pipelineSetup);
      return this.#run;
    } catch (error) {
      this.#life.check();
      throw error;
    }
  }

  /**
   * Drops a lost device, so that all work restarts from what the host knows; returns the steps that were in flight.
   * Rejects with the error if the device was not the cause, cannot be replaced, or was lost too often.
   */
  async #survive(run: DeviceRun<Sequence>, error: unknown, losses = 0): Promise<ScheduledStep<Sequence>[]> {
    const lost = await run.lossBehind(error);
    if (!lost || !this.#setup.restore) throw lost ?? error;
    const underWay = await run.pipeline.drain();
    await this.#predictor?.idle();
    this.#batcher.rollBack(underWay);
    this.#setup.state.moveToNewDevice();
    this.#run = undefined;
    this.#loss = lost;
    this.#setup.profile?.pause();
    await run[Symbol.asyncDispose]();
    if (losses >= MAX_LOSSES) throw deviceNotRestored(run.backend, lost);
    return underWay;
  }

  /** Fails the sequence that is to blame for repeated losses, if there is one. */
  #blame(underWay: readonly ScheduledStep<Sequence>[], backend: string): void {
    const worst = likelyCulprit(underWay, this.#sequences);
    if (!worst) return;
    this.#remove(worst);
    worst.fail(deviceNotRestored(backend, this.#loss));
  }

  #submit(step: ScheduledStep<Sequence>, { pipeline }: DeviceRun<Sequence>, begin: number): Promise<void> {
    for (const { sequence, first } of step.slices) sequence.begin(first);
    this.#undrafted.set(step, undraftedOf(step));
    if (this.#log.enabled('trace')) this.#trace(step);
    return pipeline.submit(step, begin);
  }

  readonly #deliver = (slice: Slice<Sequence>, from: Sampled<Sequence>): void => {
    const { sequence } = slice;
    sequence.place.pending--;
    if (sequence.ended || sequence.fault || !this.#sequences.has(sequence)) return;
    sequence.acceptRows(slice, from);
    // The state of rejected draft ids is dropped.
    if (slice.outputs > 1) this.#batcher.rewind(sequence);
    if (sequence.fault) this.#faulty.add(sequence);
    if (sequence.ended) this.#remove(sequence);
    else if (sequence.isFull) this.#shift(sequence);
    const ready = sequence.ended ? undefined : sequence.lookAhead();
    if (ready) void this.#resume(sequence, ready);
  };

  /** Fails the sequences with non-finite logits; results of other sequences' steps in flight are read first. */
  async #explain({ plan, stream, pipeline }: DeviceRun<Sequence>): Promise<void> {
    const { state } = this.#setup;
    try {
      while (!pipeline.isEmpty) await pipeline.complete(this.#deliver);
      for (const sequence of this.#faulty) {
        const { fault } = sequence;
        if (fault && !sequence.ended) sequence.fail(await explainFault({ plan, state, stream }, fault));
      }
    } catch (error) {
      for (const sequence of this.#faulty) if (!sequence.ended) sequence.fail(error);
      throw error;
    } finally {
      for (const sequence of this.#faulty) this.#remove(sequence);
      this.#faulty.clear();
    }
  }

  /** Shifts a full context; the remaining tokens are recomputed, before waiting sequences are admitted. */
  #shift(sequence: Sequence): void {
    this.#batcher.remove(sequence);
    sequence.shift();
    this.#batcher.add(sequence, { first: true });
  }

  /** Resumes a sequence once the host knows what it needs; the other sequences continue meanwhile. Never rejects. */
  async #resume(sequence: Sequence, ready: Promise<void>): Promise<void> {
    const held = sequence.draftsSoon ? 1 : 0;
    if (this.#held === 0) this.#heldSince = performance.now();
    this.#held += held;
    try {
      await ready;
      if (sequence.ended) this.#remove(sequence);
    } catch (error) {
      if (this.#sequences.has(sequence)) {
        this.#remove(sequence);
        sequence.fail(error);
      }
    }
    this.#held -= held;
    if (held > 0 && this.#held === 0) this.#heldMs += performance.now() - this.#heldSince;
    this.#drive();
  }

  #trace({ rows, outputs, slices }: ScheduledStep<Sequence>): void {
    this.#log.trace('step', { rows, outputs, sequences: slices.length, waiting: this.#batcher.waiting });
  }
}

/** Throws `PROMPT_EMPTY`, `CONTEXT_OVERFLOW` or `TOKEN_OUT_OF_RANGE` for ids that cannot be computed. */
function checkIds(
  ids: readonly number[],
  of: { context: number; vocabulary: number; vectors: GenerateRequest['vectors'] },
): void {
  const { context, vocabulary: size, vectors } = of;
  if (ids.length === 0) fail('PROMPT_EMPTY', {});
  if (ids.length > context) fail('CONTEXT_OVERFLOW', { tokens: ids.length, context });
  for (const id of ids) {
    const isToken = Number.isInteger(id) && id >= 0 && id < size;
    if (!isToken && !vectors?.has(id)) fail('TOKEN_OUT_OF_RANGE', { id, size });
  }
}

/** Throws `INVALID_ARGUMENT` for limits that are not valid numbers of tokens. */
function checkLimits(of: { maxTokens: number; speculation: number | undefined }): void {
  for (const [name, value = 0] of Object.entries(of)) {
    if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 0)) continue;
    fail('INVALID_ARGUMENT', { name, found: String(value), expected: 'a whole number of tokens' });
  }
}

/** Throws `INVALID_ARGUMENT` if a full context could not be shifted. */
function checkShift(shift: ContextShift | undefined, context: number): void {
  const most = Math.floor(context / 2);
  if (!shift || (Number.isInteger(shift.keep) && shift.keep >= 0 && shift.keep <= most)) return;
  const expected = `a whole number of positions, at most ${most}`;
  fail('INVALID_ARGUMENT', { name: 'shift.keep', found: `${shift.keep}`, expected });
}

function undraftedOf({ slices }: ScheduledStep<Sequence>): Undrafted {
  let [without, never] = [0, 0];
  for (const { sequence } of slices) {
    if (sequence.draftTokens === 0) without++;
    if (!sequence.mayHaveDrafts) never++;
  }
  return { without, never };
}
